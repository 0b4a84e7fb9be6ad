import type { AccessTokenRecord } from '../../../db/queries/applications/access-tokens.js';
import { allowsUnregistered } from '../../../db/queries/applications/provider-clients.js';
import { ApiError } from '../../../schemas/errors.js';
import { collectionScopes } from '../../../schemas/scopes.js';
import type { Services } from '../../platform/plugin.js';
import { isOpaqueAccessToken } from '../../tokens/opaque-access-tokens.js';
import { hashToken } from '../../tokens/refresh-tokens.js';
import type { CredentialResolver } from './resolver.js';

/**
 * Access tokens of applications for the service's own API. An application may do what the user may do and one of the token's scopes names,
 * as far as its settings and the user's consent still allow these scopes. A token without such a scope is not accepted.
 */
export const createApplicationTokenResolver = ({ principals }: Services): CredentialResolver => ({
  recognize: async (text) => {
    if (!isOpaqueAccessToken(text)) return undefined;
    return async ({ ownFields }) => {
      const hash = hashToken(text);
      const user = await principals.ofAccessToken(hash, ownFields);
      const scopes = user ? currentScopes(user.token) : [];
      if (!user || scopes.length === 0) return undefined;
      const { token } = user;
      if (token.jkt !== null)
        throw new ApiError('INVALID_CREDENTIALS').saying('This API accepts only access tokens without DPoP.');
      return { user, credential: { kind: 'application token', id: hash, scopes, client: token.client } };
    };
  },
});

/** The scopes for the service's own API that a token has now. */
function currentScopes(token: AccessTokenRecord): string[] {
  const { unregistered, former_clients: former, client_scopes: allowed, grant_scopes: granted } = token;
  if (former.some((client) => unregistered === null || !allowsUnregistered(unregistered, client))) return [];
  return (token.scope?.split(' ') ?? []).filter(
    (scope) =>
      collectionScopes.includes(scope) &&
      allowed?.includes(scope) === true &&
      (token.first_party || granted.includes(scope)),
  );
}
