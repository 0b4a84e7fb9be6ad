import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../schemas/config.js';
import { hashToken } from '../tokens/refresh-tokens.js';

/** The cookie by which a browser is known as the one that registered. It opens nothing without the link in the email. */
export interface BrowserCookie {
  readonly name: string;
  /** The cookie that the browser has, or a new one for it. */
  choose(request: FastifyRequest): { value: string; hash: string };
  /** Gives a cookie to the browser, or more time for the one that it has. */
  set(reply: FastifyReply, value: string): void;
  /** The hashes of all cookies of this name, because a neighboring host may have set another one. */
  hashesIn(request: FastifyRequest): string[];
  /** Has the browser drop the cookie. */
  clear(reply: FastifyReply): void;
}

const pattern = /^[\w-]{43}$/;

/** No honest browser sends more cookies of one name. */
const maxCookies = 8;

export function createBrowserCookie(
  config: Pick<Config, 'PUBLIC_URL' | 'EMAIL_VERIFICATION_TOKEN_TTL'>,
): BrowserCookie {
  const secure = new URL(config.PUBLIC_URL).protocol === 'https:';
  const name = `${secure ? '__Host-' : ''}gatehouse_registration`;
  const maxAge = Math.floor(config.EMAIL_VERIFICATION_TOKEN_TTL / 1000);
  const attributes = { httpOnly: true, path: '/', secure, sameSite: 'lax' } as const;

  const valuesIn = ({ headers }: FastifyRequest): string[] =>
    (headers.cookie ?? '')
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${name}=`))
      .map((pair) => pair.slice(name.length + 1))
      .filter((value) => pattern.test(value))
      .slice(0, maxCookies);

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
