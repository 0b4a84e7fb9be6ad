import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../../schemas/config.js';
import type { Visit } from './service.js';

/** The cookie with the language that the user has chosen. */
export const languageCookie = 'gatehouse_language';

/** Returns a function that reads from a request what affects the page. */
export function createVisitReader(config: Config): (request: FastifyRequest) => Visit {
  const sessionCookies = [
    { mode: 'session', name: config.SESSION_COOKIE_NAME, sameSite: config.SESSION_COOKIE_SAME_SITE },
    { mode: 'cookie', name: config.REFRESH_TOKEN_COOKIE_NAME, sameSite: config.REFRESH_TOKEN_COOKIE_SAME_SITE },
  ] as const;

  /** Browsers do not send strict cookies when another site, such as a provider, leads to a page. The page's own requests have them. */
  const sessionModesOf = ({ 'sec-fetch-site': site }: IncomingHttpHeaders, cookies: FastifyRequest['cookies']) =>
    sessionCookies
      .filter(({ name, sameSite }) => cookies[name] !== undefined || (sameSite === 'strict' && site === 'cross-site'))
      .map(({ mode }) => mode);

  return ({ query, headers, cookies }) => ({
    query: query as Record<string, unknown>,
    acceptLanguage: headers['accept-language'],
    // A request can fail before its cookies are parsed.
    language: cookies?.[languageCookie],
    sessionModes: sessionModesOf(headers, cookies ?? {}),
  });
}
