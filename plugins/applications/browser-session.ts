import type { FastifyRequest } from 'fastify';
import { ApiError } from '../../schemas/errors.js';
import { definePlugin } from '../platform/plugin.js';
import type { BrowserSession } from './provider/exchange.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The session whose cookie the browser has. An unusable cookie counts as no cookie. */
    browserSession(): Promise<BrowserSession | null>;
  }
}

/** `request.browserSession()`, for pages and endpoints that decide themselves what a missing session means. */
export const browserSessionPlugin = definePlugin('applications/browser-session', ({ config, access }, app) => {
  app.decorateRequest('browserSession', async function (this: FastifyRequest) {
    const tokens = this.cookieValues(config.SESSION_COOKIE_NAME);
    if (tokens.length === 0) return null;
    try {
      const { userId: user, credential, mustSetUpTfa } = await access.authenticate(tokens, this.client);
      if (credential.kind !== 'session') return null;
      return { id: credential.id, user, authenticatedAt: credential.authenticatedAt, isRestricted: mustSetUpTfa };
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) return null;
      throw error;
    }
  });
  return undefined;
});
