import { ApiError } from '../../../schemas/errors.js';
import { clockOffset } from '../../platform/clock.js';
import type { Services } from '../../platform/plugin.js';
import { tokenStatusOf } from '../../sessions/token-status.js';
import type { CredentialResolver } from './resolver.js';

/** Sessions, which present an access token. In a session cookie, it is no longer valid once it has been replaced. */
export function createSessionResolver({ config, principals, accessTokens, clock }: Services): CredentialResolver {
  const { SESSION_REFRESH_GRACE_PERIOD: gracePeriod } = config;

  return {
    recognize: async (token) => {
      const claims = await accessTokens.verify(token);
      if (!claims) return undefined;
      return async ({ arrived, ownFields }) => {
        const found = await principals.ofSession(claims.session, ownFields);
        if (found?.id !== claims.id || found.session.expires_at <= clock().getTime()) return undefined;
        const { id, authenticated_at: authenticatedAt, last_used_at: lastUsed } = found.session;
        if (claims.generation !== undefined) {
          const waited = performance.now() - arrived;
          const times = { waited, shift: clockOffset(clock), gracePeriod };
          const status = tokenStatusOf(claims.generation, found.session, times);
          if (status === 'older') throw new ApiError('INVALID_CREDENTIALS').keepingCookie();
          if (status !== 'current' && status !== 'replaced') return undefined;
        }
        return {
          user: found,
          credential: { kind: 'session', id, scopes: null, client: null, authenticatedAt, lastUsed },
        };
      };
    },
  };
}
