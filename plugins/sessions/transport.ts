import type { FastifyReply, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { ApiError } from '../../schemas/errors.js';
import type { SessionMode, SessionTokens } from '../../schemas/sessions.js';
import type { IssuedSession, SessionCredential } from './service.js';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * What the request shows to go on with a session or to end it, from the one place of its mode (contract 2.2).
     * @throws {ApiError} INVALID_PAYLOAD when there is nothing at that place
     */
    sessionCredential(body: { refresh_token?: string; mode?: SessionMode }): SessionCredential;
  }
  interface FastifyReply {
    /** Puts the tokens of a session where its mode wants them, and returns what is left for the body (contract 1.3). */
    deliver(session: IssuedSession): SessionTokens;
    /** Takes away those of our cookies that came with the request. */
    clearReceivedCookies(): void;
  }
}

/** How the tokens of a session travel: in the body or in cookies. */
export const sessionTransportPlugin = plugin(
  async (app) => {
    const { REFRESH_TOKEN_COOKIE_NAME: refreshCookie, SESSION_COOKIE_NAME: sessionCookie } = app.config;

    app.decorateRequest('sessionCredential', function (this: FastifyRequest, body): SessionCredential {
      const mode = body.mode ?? (body.refresh_token ? 'json' : 'cookie');
      const place = {
        json: { token: body.refresh_token, name: 'refresh_token in the body' },
        cookie: { token: this.cookies[refreshCookie], name: `cookie ${refreshCookie}` },
        session: { token: this.cookies[sessionCookie], name: `cookie ${sessionCookie}` },
      }[mode];
      if (!place.token)
        throw new ApiError('INVALID_PAYLOAD', { reason: `In mode ${mode} the ${place.name} is needed` });
      return { mode, token: place.token };
    });

    app.decorateReply(
      'deliver',
      function (this: FastifyReply, { mode, accessToken, refreshToken, expires }: IssuedSession) {
        if (mode === 'session') {
          this.setSessionCookie(accessToken);
          return { expires };
        }
        if (mode === 'cookie') {
          this.setRefreshCookie(refreshToken ?? '');
          return { expires, access_token: accessToken };
        }
        return { expires, refresh_token: refreshToken ?? '', access_token: accessToken };
      },
    );

    app.decorateReply('clearReceivedCookies', function (this: FastifyReply) {
      if (this.request.cookies[refreshCookie] !== undefined) this.clearRefreshCookie();
      if (this.request.cookies[sessionCookie] !== undefined) this.clearSessionCookie();
    });
  },
  { name: 'session-transport', dependencies: ['config', 'cookie'] },
);
