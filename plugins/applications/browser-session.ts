import type { FastifyRequest } from 'fastify';
import { ApiError } from '../../schemas/errors.js';
import { rightsOf } from '../http/caller.js';
import { definePlugin } from '../platform/plugin.js';
import type { BrowserSession } from './provider/exchange.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The session whose cookie the browser has, in `session` or `cookie` mode. An unusable cookie counts as no cookie. */
    browserSession(): Promise<BrowserSession | null>;
  }
}

/** `request.browserSession()`, for pages and endpoints that decide themselves what a missing session means. */
export const browserSessionPlugin = definePlugin(
  'applications/browser-session',
  ({ config, access, sessions }, app) => {
    const ofSessionCookie = async (request: FastifyRequest): Promise<BrowserSession | null> => {
      const tokens = request.cookieValues(config.SESSION_COOKIE_NAME);
      if (tokens.length === 0) return null;
      try {
        const { userId: user, credential, mustSetUpTfa } = await access.authenticate(tokens, request.client);
        if (credential.kind !== 'session') return null;
        return { id: credential.id, user, authenticatedAt: credential.authenticatedAt, isRestricted: mustSetUpTfa };
      } catch (error) {
        if (error instanceof ApiError && error.status < 500) return null;
        throw error;
      }
    };

    /** The refresh token in the cookie is not exchanged, because the application that uses this mode does that. */
    const ofRefreshCookie = async (request: FastifyRequest): Promise<BrowserSession | null> => {
      const tokens = request.cookieValues(config.REFRESH_TOKEN_COOKIE_NAME);
      if (tokens.length === 0) return null;
      const found = await sessions.find({ mode: 'cookie', tokens, arrived: performance.now() });
      if (!found) return null;
      const { id: user, session } = found;
      const { mustSetUpTfa: isRestricted } = rightsOf(found, request.client.ip);
      return { id: session.id, user, authenticatedAt: session.authenticated_at, isRestricted };
    };

    app.decorateRequest('browserSession', async function (this: FastifyRequest) {
      return (await ofSessionCookie(this)) ?? (await ofRefreshCookie(this));
    });
    return undefined;
  },
);
