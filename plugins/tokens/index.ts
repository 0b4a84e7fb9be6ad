import plugin from 'fastify-plugin';
import { keysFor } from '../platform/key-derivation.js';
import { type AccessTokens, createAccessTokens } from './access-tokens.js';
import { createEmailCodes, type EmailCodes } from './email-codes.js';
import { createKnownBrowsers, type KnownBrowsers } from './known-browsers.js';
import { createLinkTokens, type LinkTokens } from './link-tokens.js';
import { createRefreshTokens, type RefreshTokens } from './refresh-tokens.js';

declare module 'fastify' {
  interface FastifyInstance {
    accessTokens: AccessTokens;
    refreshTokens: RefreshTokens;
    linkTokens: LinkTokens;
    emailCodes: EmailCodes;
    knownBrowsers: KnownBrowsers;
  }
}

/**
 * `app.accessTokens`, `app.refreshTokens`, `app.linkTokens`, `app.emailCodes`, and `app.knownBrowsers`: issue and verify tokens, codes,
 * and the marks of browsers.
 */
export const tokensPlugin = plugin(
  async (app) => {
    const { config, clock, jwt, signingKeys } = app;
    const [, ...accessKeys] = keysFor(config, 'access-token');
    const [, ...linkKeys] = keysFor(config, 'link-token');
    const signing = { jwt, previousKeys: accessKeys, clock };
    app.decorate(
      'accessTokens',
      createAccessTokens({
        ...signing,
        keys: signingKeys,
        issuer: 'gatehouse',
        audience: config.ACCESS_TOKEN_AUDIENCE,
      }),
    );
    app.decorate('refreshTokens', createRefreshTokens(keysFor(config, 'refresh-token')));
    app.decorate('linkTokens', createLinkTokens({ jwt: jwt.links, previousKeys: linkKeys, clock }));
    app.decorate('emailCodes', createEmailCodes(keysFor(config, 'email-code')));
    app.decorate('knownBrowsers', createKnownBrowsers(keysFor(config, 'known-browser')));
  },
  { name: 'tokens', dependencies: ['config', 'clock', 'jwt', 'signing-keys'] },
);
