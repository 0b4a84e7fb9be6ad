import type { FastifyReply } from 'fastify';
import plugin from 'fastify-plugin';
import { knownBrowserCookie } from '../http/caller.js';
import { networksAreKnownFor } from '../passwords/checks/lockouts.js';
import { createBrowserCookie } from '../tokens/browser-cookie.js';

declare module 'fastify' {
  interface FastifyReply {
    /** Sets the cookie by which the service recognizes a browser from which a user has signed in (`KnownBrowsers`). */
    rememberBrowser(userId: string): void;
  }
}

/** The cookie gives no access. It only has an effect on limits, and only a browser of the user has a valid one. */
export const knownBrowserPlugin = plugin(
  async (app) => {
    const cookie = createBrowserCookie(knownBrowserCookie, app.config.PUBLIC_URL, networksAreKnownFor);
    app.decorateReply('rememberBrowser', function (this: FastifyReply, userId) {
      cookie.set(this, app.knownBrowsers.add(this.request.client.browser, userId));
    });
  },
  { name: 'known-browser', dependencies: ['config', 'cookie', 'client', 'tokens'] },
);
