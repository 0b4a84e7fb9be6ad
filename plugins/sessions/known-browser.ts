import type { FastifyReply } from 'fastify';
import { knownBrowserCookie } from '../http/caller.js';
import { networksAreKnownFor } from '../passwords/checks/lockouts.js';
import { definePlugin } from '../platform/plugin.js';
import { createBrowserCookie } from '../tokens/browser-cookie.js';

declare module 'fastify' {
  interface FastifyReply {
    /** Sets the cookie by which the service recognizes a browser from which a user has signed in (`KnownBrowsers`). */
    rememberBrowser(userId: string): void;
  }
}

/** The cookie gives no access. It only has an effect on limits, and only a browser of the user has a valid one. */
export const knownBrowserPlugin = definePlugin('sessions/known-browser', ({ config, knownBrowsers }, app) => {
  const cookie = createBrowserCookie(knownBrowserCookie, config.PUBLIC_URL, networksAreKnownFor);
  app.decorateReply('rememberBrowser', function (this: FastifyReply, userId) {
    cookie.set(this, knownBrowsers.add(this.request.client.browser, userId));
  });
});
