import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../schemas/errors.js';
import type { SessionMode, SessionTokens } from '../../schemas/sessions.js';
import { definePlugin } from '../platform/plugin.js';
import type { IssuedSession } from './issuing.js';
import type { PresentedTokens } from './refresh.js';

declare module 'fastify' {
  interface FastifyReply {
    /**
     * The credential with which the request continues or ends a session. Each mode has exactly one place for it.
     * @throws {ApiError} INVALID_PAYLOAD if there is no credential at that place
     */
    presentedTokens(body: { refresh_token?: string; mode?: SessionMode }): PresentedTokens;
    /** The credential in the cookie of a mode; undefined if the request does not have that cookie. */
    tokensInCookie(mode: 'session' | 'cookie'): PresentedTokens | undefined;
    /**
     * Sets the cookies that the mode of the session requires, and returns the tokens for the body. After a login in a browser, also sets
     * the cookie by which the service recognizes it.
     * @param options.isBrowser whether the request has a cookie that only a browser has; if not, its headers decide
     */
    sendTokens(session: IssuedSession, options?: { isBrowser?: boolean }): SessionTokens;
    /** Clears the session and refresh cookies that came with the request. */
    clearReceivedCookies(): void;
  }
  interface FastifyContextConfig {
    /** The route evaluates the session cookie itself, so the cookie does not authenticate the request. */
    evaluatesSessionCookie?: boolean;
  }
}

/** Reads and sends the tokens of a session, in the body or in cookies. */
export const tokenTransportPlugin = definePlugin('sessions/token-transport', ({ config }, app) => {
  const { REFRESH_TOKEN_COOKIE_NAME: refreshCookie, SESSION_COOKIE_NAME: sessionCookie } = config;

  const cookieOf = { cookie: refreshCookie, session: sessionCookie };
  const placeOf = (request: FastifyRequest, mode: SessionMode, inBody: string | undefined) => {
    if (mode === 'json') return { name: 'refresh_token in the body', tokens: inBody ? [inBody] : [] };
    return { name: `cookie ${cookieOf[mode]}`, tokens: request.cookieValues(cookieOf[mode]) };
  };
  const arrivalOf = (reply: FastifyReply) => performance.now() - reply.elapsedTime;

  app.decorateReply('presentedTokens', function (this: FastifyReply, body): PresentedTokens {
    const mode = body.mode ?? (body.refresh_token ? 'json' : 'cookie');
    const { name, tokens } = placeOf(this.request, mode, body.refresh_token);
    if (tokens.length === 0) throw new ApiError('INVALID_PAYLOAD', { reason: `Mode ${mode} requires the ${name}` });
    return { mode, tokens, arrived: arrivalOf(this) };
  });

  app.decorateReply('tokensInCookie', function (this: FastifyReply, mode) {
    const tokens = this.request.cookieValues(cookieOf[mode]);
    return tokens.length === 0 ? undefined : { mode, tokens, arrived: arrivalOf(this) };
  });

  app.decorateReply('sendTokens', function (this: FastifyReply, issued: IssuedSession, { isBrowser = false } = {}) {
    const { mode, accessToken, refreshToken, expires, sessionExpires, signedIn } = issued;
    // Only browsers send this header. Other clients have no use for a cookie that lasts for months.
    const keepsCookies = isBrowser || (mode !== 'json' && this.request.headers['sec-fetch-site'] !== undefined);
    if (signedIn !== undefined && keepsCookies) this.rememberBrowser(signedIn);
    if (mode === 'session') {
      this.setSessionCookie(accessToken, sessionExpires);
      return { expires };
    }
    if (mode === 'cookie') {
      this.setRefreshCookie(refreshToken ?? '', sessionExpires);
      return { expires, access_token: accessToken };
    }
    return { expires, refresh_token: refreshToken ?? '', access_token: accessToken };
  });

  app.decorateReply('clearReceivedCookies', function (this: FastifyReply) {
    if (this.request.cookies[refreshCookie] !== undefined) this.clearRefreshCookie();
    if (this.request.cookies[sessionCookie] !== undefined) this.clearSessionCookie();
  });

  // A session cookie that cannot be refreshed is useless.
  app.addHook('onError', async (request, reply, error) => {
    const { evaluatesSessionCookie } = request.routeOptions.config;
    const isDead = error instanceof ApiError && error.code === 'INVALID_CREDENTIALS' && !error.keepsCookie;
    const mode = (request.body as { mode?: SessionMode } | undefined)?.mode;
    if (evaluatesSessionCookie && isDead && mode === 'session') reply.clearSessionCookie();
  });
});
