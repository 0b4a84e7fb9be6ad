import plugin from 'fastify-plugin';
import { issuer } from '../jwt.js';
import { deriveKey } from '../keys.js';
import { type AccessTokens, createAccessTokens } from './access-tokens.js';
import { createRefreshTokens, type RefreshTokens } from './refresh-tokens.js';

declare module 'fastify' {
  interface FastifyInstance {
    accessTokens: AccessTokens;
    refreshTokens: RefreshTokens;
  }
}

/** `app.accessTokens` and `app.refreshTokens`: make tokens and read them back. */
export const tokensPlugin = plugin(
  async (app) => {
    app.decorate('accessTokens', createAccessTokens({ jwt: app.jwt, clock: app.clock, issuer }));
    app.decorate('refreshTokens', createRefreshTokens(deriveKey(app.config.SECRET, 'refresh-token')));
  },
  { name: 'tokens', dependencies: ['config', 'clock', 'jwt'] },
);
