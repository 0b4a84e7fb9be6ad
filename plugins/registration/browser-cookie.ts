import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../schemas/config.js';
import { hashToken } from '../tokens/refresh-tokens.js';

/** The cookie that identifies the browser that registered. Without the link in the email, it gives no access. */
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

/** Browsers of real users never send more cookies with the same name. */
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
