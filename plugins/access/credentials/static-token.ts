import type { Services } from '../../platform/plugin.js';
import { hashToken } from '../../tokens/refresh-tokens.js';
import type { CredentialResolver } from './resolver.js';

/** Static tokens, which administrators assign to users. They have no fixed form, so any text can be one. */
export const createStaticTokenResolver = ({ principals }: Services): CredentialResolver => ({
  recognize:
    async (token) =>
    async ({ ownFields }) => {
      const user = await principals.ofTokenHash(hashToken(token), ownFields);
      return user && { user, credential: { kind: 'static token', id: user.id, scopes: null, client: null } };
    },
});
