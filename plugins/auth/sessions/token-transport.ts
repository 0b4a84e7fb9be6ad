import type { FastifyReply, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { ApiError } from '../../../schemas/errors.js';
import type { SessionMode, SessionTokens } from '../../../schemas/sessions.js';
import type { IssuedSession, SessionCredential } from './service.js';

declare module 'fastify' {
  interface FastifyReply {
    /**
     * What the request presents to continue a session or to end it, from the one place of its mode.
     * @throws {ApiError} INVALID_PAYLOAD when there is nothing at that place
     */
    sessionCredential(body: { refresh_token?: string; mode?: SessionMode }): SessionCredential;
    /** Puts the tokens of a session where its mode requires them, and returns what is left for the body. */
    deliver(session: IssuedSession): SessionTokens;
    /** Clears those of our cookies that came with the request. */
    clearReceivedCookies(): void;
  }
  interface FastifyContextConfig {
    /** The route evaluates the session cookie itself: it is not a credential for it. */
    evaluatesSessionCookie?: boolean;
  }
}

/** How the tokens of a session travel: in the body or in cookies. */
export const sessionTransportPlugin = plugin(
  async (app) => {
    const { REFRESH_TOKEN_COOKIE_NAME: refreshCookie, SESSION_COOKIE_NAME: sessionCookie } = app.config;

    const placeOf = (request: FastifyRequest, mode: SessionMode, inBody: string | undefined) => {
      if (mode === 'json') return { name: 'refresh_token in the body', tokens: inBody ? [inBody] : [] };
      const cookie = mode === 'cookie' ? refreshCookie : sessionCookie;
      return { name: `cookie ${cookie}`, tokens: request.cookieValues(cookie) };
    };

    app.decorateReply('sessionCredential', function (this: FastifyReply, body): SessionCredential {
      const mode = body.mode ?? (body.refresh_token ? 'json' : 'cookie');
      const { name, tokens } = placeOf(this.request, mode, body.refresh_token);
      if (tokens.length === 0) throw new ApiError('INVALID_PAYLOAD', { reason: `Mode ${mode} requires the ${name}` });
      return { mode, tokens, arrived: performance.now() - this.elapsedTime };
    });

    app.decorateReply(
      'deliver',
      function (this: FastifyReply, { mode, accessToken, refreshToken, expires, sessionExpires }: IssuedSession) {
        if (mode === 'session') {
          this.setSessionCookie(accessToken, sessionExpires);
          return { expires };
        }
        if (mode === 'cookie') {
          this.setRefreshCookie(refreshToken ?? '', sessionExpires);
          return { expires, access_token: accessToken };
        }
        return { expires, refresh_token: refreshToken ?? '', access_token: accessToken };
      },
    );

    app.decorateReply('clearReceivedCookies', function (this: FastifyReply) {
      if (this.request.cookies[refreshCookie] !== undefined) this.clearRefreshCookie();
      if (this.request.cookies[sessionCookie] !== undefined) this.clearSessionCookie();
    });

    // A session cookie that cannot be refreshed is of no further use.
    app.addHook('onError', async (request, reply, error) => {
      const { evaluatesSessionCookie } = request.routeOptions.config;
      const isDead = error instanceof ApiError && error.code === 'INVALID_CREDENTIALS' && !error.keepsCookie;
      const mode = (request.body as { mode?: SessionMode } | undefined)?.mode;
      if (evaluatesSessionCookie && isDead && mode === 'session') reply.clearSessionCookie();
    });
  },
  { name: 'session-transport', dependencies: ['config', 'cookie'] },
);
