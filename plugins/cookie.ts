import cookie, { type CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply } from 'fastify';
import plugin from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyInstance {
    /** The names of the cookies that are ours: those of sessions, and whatever other plugins add of theirs. */
    ownCookies: Set<string>;
  }
  interface FastifyReply {
    setRefreshCookie(token: string): void;
    setSessionCookie(token: string): void;
    clearRefreshCookie(): void;
    clearSessionCookie(): void;
  }
}

/** The two cookies of the service (contract 1.3): always HttpOnly, the rest as configured. */
export const cookiePlugin = plugin(
  async (app) => {
    const { config } = app;
    await app.register(cookie);
    app.decorate('ownCookies', new Set([config.REFRESH_TOKEN_COOKIE_NAME, config.SESSION_COOKIE_NAME]));

    const attributes = (name: 'REFRESH_TOKEN_COOKIE' | 'SESSION_COOKIE'): CookieSerializeOptions => {
      const domain = config[`${name}_DOMAIN`];
      return {
        httpOnly: true,
        path: '/',
        secure: config[`${name}_SECURE`],
        sameSite: config[`${name}_SAME_SITE`],
        ...(domain === undefined ? {} : { domain }),
      };
    };
    const refresh = attributes('REFRESH_TOKEN_COOKIE');
    const session = attributes('SESSION_COOKIE');
    const inSeconds = (ms: number) => Math.floor(ms / 1000);

    app.decorateReply('setRefreshCookie', function (this: FastifyReply, token: string) {
      this.setCookie(config.REFRESH_TOKEN_COOKIE_NAME, token, {
        ...refresh,
        maxAge: inSeconds(config.REFRESH_TOKEN_TTL),
      });
    });
    app.decorateReply('setSessionCookie', function (this: FastifyReply, token: string) {
      this.setCookie(config.SESSION_COOKIE_NAME, token, { ...session, maxAge: inSeconds(config.SESSION_COOKIE_TTL) });
    });
    app.decorateReply('clearRefreshCookie', function (this: FastifyReply) {
      this.clearCookie(config.REFRESH_TOKEN_COOKIE_NAME, refresh);
    });
    app.decorateReply('clearSessionCookie', function (this: FastifyReply) {
      this.clearCookie(config.SESSION_COOKIE_NAME, session);
    });
  },
  { name: 'cookie', dependencies: ['config'] },
);
