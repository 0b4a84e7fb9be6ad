import cookie, { type CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { definePlugin } from '../platform/plugin.js';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * All non-empty values of the cookies with this name. There can be several if a neighboring host has set a cookie for the
     * parent domain. The request does not reveal which value is from this service, so the caller must try each one.
     */
    cookieValues(name: string): string[];
  }
  interface FastifyReply {
    /** @param lifetime in milliseconds */
    setRefreshCookie(token: string, lifetime: number): void;
    /** @param lifetime in milliseconds */
    setSessionCookie(token: string, lifetime: number): void;
    clearRefreshCookie(): void;
    clearSessionCookie(): void;
  }
}

/** More than any browser sends for one URL. */
const maxValues = 20;

/** Sets and clears the session cookies. They are always HttpOnly; the other attributes are configurable. */
export const cookiePlugin = definePlugin('http/cookies', async ({ config }, app) => {
  await app.register(cookie);

  app.decorateRequest('cookieValues', function (this: FastifyRequest, name: string) {
    if (this.cookies[name] === undefined) return [];
    const pairs = (this.headers.cookie ?? '').split(';').filter((pair) => pair.trimStart().startsWith(name));
    const values = pairs
      .map((pair) => app.parseCookie(pair)[name])
      .filter((value) => value !== undefined && value !== '');
    return [...new Set(values as string[])].slice(0, maxValues);
  });

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

  app.decorateReply('setRefreshCookie', function (this: FastifyReply, token: string, lifetime: number) {
    this.setCookie(config.REFRESH_TOKEN_COOKIE_NAME, token, { ...refresh, maxAge: inSeconds(lifetime) });
  });
  app.decorateReply('setSessionCookie', function (this: FastifyReply, token: string, lifetime: number) {
    this.setCookie(config.SESSION_COOKIE_NAME, token, { ...session, maxAge: inSeconds(lifetime) });
  });
  app.decorateReply('clearRefreshCookie', function (this: FastifyReply) {
    this.clearCookie(config.REFRESH_TOKEN_COOKIE_NAME, refresh);
  });
  app.decorateReply('clearSessionCookie', function (this: FastifyReply) {
    this.clearCookie(config.SESSION_COOKIE_NAME, session);
  });
});
