import plugin from 'fastify-plugin';
import { issuer } from '../jwt.js';
import { deriveKey } from '../keys.js';
import { type AccessTokens, createAccessTokens } from './access-tokens.js';
import { createLinkTokens, type LinkTokens } from './link-tokens.js';
import { createRefreshTokens, type RefreshTokens } from './refresh-tokens.js';

declare module 'fastify' {
  interface FastifyInstance {
    accessTokens: AccessTokens;
    refreshTokens: RefreshTokens;
    linkTokens: LinkTokens;
  }
}

/** `app.accessTokens`, `app.refreshTokens` and `app.linkTokens`: make tokens and read them back. */
export const tokensPlugin = plugin(
  async (app) => {
    app.decorate('accessTokens', createAccessTokens({ jwt: app.jwt, clock: app.clock, issuer }));
    app.decorate('refreshTokens', createRefreshTokens(deriveKey(app.config.SECRET, 'refresh-token')));
    app.decorate('linkTokens', createLinkTokens({ jwt: app.jwt.links, clock: app.clock, issuer }));
  },
  { name: 'tokens', dependencies: ['config', 'clock', 'jwt'] },
);
