import { keysFor } from '../platform/key-derivation.js';
import { definePlugin } from '../platform/plugin.js';
import { type AccessTokens, createAccessTokens } from './access-tokens.js';
import { createEmailCodes, type EmailCodes } from './email-codes.js';
import { jwtPlugin } from './jwt.js';
import { createKnownBrowsers, type KnownBrowsers } from './known-browsers.js';
import { createLinkTokens, type LinkTokens } from './link-tokens.js';
import { createRefreshTokens, type RefreshTokens } from './refresh-tokens.js';

declare module '../platform/plugin.js' {
  interface Services {
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
export const tokensPlugin = definePlugin('tokens', async ({ config, clock, signingKeys: keys }, app) => {
  await app.register(jwtPlugin, config);
  const { jwt } = app;
  const [, ...accessKeys] = keysFor(config, 'access-token');
  const [, ...linkKeys] = keysFor(config, 'link-token');
  const audience = config.ACCESS_TOKEN_AUDIENCE;
  return {
    accessTokens: createAccessTokens({ jwt, previousKeys: accessKeys, clock, keys, issuer: 'gatehouse', audience }),
    refreshTokens: createRefreshTokens(keysFor(config, 'refresh-token')),
    linkTokens: createLinkTokens({ jwt: jwt.links, previousKeys: linkKeys, clock }),
    emailCodes: createEmailCodes(keysFor(config, 'email-code')),
    knownBrowsers: createKnownBrowsers(keysFor(config, 'known-browser')),
  };
});
