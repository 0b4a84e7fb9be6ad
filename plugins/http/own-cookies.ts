import { definePlugin } from '../platform/plugin.js';

declare module '../platform/plugin.js' {
  interface Services {
    /**
     * The names of all cookies that have an effect on requests: the session cookies, and those that other plugins add. The cookie by which
     * a browser is recognized has none except on limits.
     */
    ownCookies: Set<string>;
  }
}

/** `app.ownCookies` */
export const ownCookiesPlugin = definePlugin('http/own-cookies', ({ config }) => ({
  ownCookies: new Set([config.REFRESH_TOKEN_COOKIE_NAME, config.SESSION_COOKIE_NAME]),
}));
