import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hashToken } from './refresh-tokens.js';

/** A cookie that identifies the browser that made a request. It gives no access without something from an email. */
export interface BrowserCookie {
  readonly name: string;
  /** Returns the cookie value that the browser sent, or a new one. */
  choose(request: FastifyRequest): { value: string; hash: string };
  /** Sets the cookie in the browser, or extends the lifetime of the existing one. */
  set(reply: FastifyReply, value: string): void;
  /** The hashes of all cookies of this name, because a neighboring host may have set another one. */
  hashesIn(request: FastifyRequest): string[];
  /** Deletes the cookie in the browser. */
  clear(reply: FastifyReply): void;
}

const pattern = /^[\w-]{43}$/;

/**
 * @param baseName the name of the cookie, without the prefix that it gets with https
 * @param lifetime in milliseconds
 */
export function createBrowserCookie(baseName: string, publicUrl: string, lifetime: number): BrowserCookie {
  const secure = new URL(publicUrl).protocol === 'https:';
  const name = `${secure ? '__Host-' : ''}${baseName}`;
  const maxAge = Math.floor(lifetime / 1000);
  const attributes = { httpOnly: true, path: '/', secure, sameSite: 'lax' } as const;

  const valuesIn = (request: FastifyRequest) => request.cookieValues(name).filter((value) => pattern.test(value));

  return {
    name,
    choose: (request) => {
      const [value = randomBytes(32).toString('base64url')] = valuesIn(request);
      return { value, hash: hashToken(value) };
    },
    set: (reply, value) => void reply.setCookie(name, value, { ...attributes, maxAge }),
    hashesIn: (request) => valuesIn(request).map(hashToken),
    clear: (reply) => void reply.clearCookie(name, attributes),
  };
}
