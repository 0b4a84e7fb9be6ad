import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, routeNotFound } from '../../schemas/errors.js';
import { type App, wantsHtml } from '../app.js';

const visitorPages = ['login', 'forgot-password', 'register', 'verified', 'cancel-email-change', 'not-me'] as const;

type PageName = Parameters<App['pages']['render']>[0];
/** Whose link it is, what it requires, and which page it opens. */
type Link = { email: string; proof?: 'none' | 'password'; redirect?: string };

const languageCookie = 'gatehouse_language';
/** Seconds. */
const yearSeconds = 365 * 24 * 60 * 60;

/** The pages are open to anyone, so an invalid session cookie does not keep users from signing in again. */
export function pageRoutes(app: App): void {
  const { PUBLIC_URL: publicUrl } = app.config;
  const cookie = {
    path: `${app.basePath}/account`,
    httpOnly: true,
    secure: publicUrl.startsWith('https:'),
    sameSite: 'lax',
    maxAge: yearSeconds,
  } as const;

  const { config } = app;
  const sessionCookies = [
    { mode: 'session', name: config.SESSION_COOKIE_NAME, sameSite: config.SESSION_COOKIE_SAME_SITE },
    { mode: 'cookie', name: config.REFRESH_TOKEN_COOKIE_NAME, sameSite: config.REFRESH_TOKEN_COOKIE_SAME_SITE },
  ] as const;

  /** Browsers do not send strict cookies when another site, such as a provider, leads to a page. The page's own requests have them. */
  const sessionModesOf = ({ 'sec-fetch-site': site }: IncomingHttpHeaders, cookies: FastifyRequest['cookies']) =>
    sessionCookies
      .filter(({ name, sameSite }) => cookies[name] !== undefined || (sameSite === 'strict' && site === 'cross-site'))
      .map(({ mode }) => mode);

  const visitOf = ({ query, headers, cookies }: FastifyRequest) => ({
    query: query as Record<string, unknown>,
    acceptLanguage: headers['accept-language'],
    // A request can fail before its cookies are parsed.
    language: cookies?.[languageCookie],
    sessionModes: sessionModesOf(headers, cookies ?? {}),
  });

  /** Sends a page, and remembers the language if the user has chosen one. */
  const send = (reply: FastifyReply, { html, headers, chosen }: Awaited<ReturnType<typeof app.pages.render>>) => {
    if (chosen !== undefined) reply.setCookie(languageCookie, chosen, cookie);
    return reply.headers(headers).send(html);
  };

  for (const name of visitorPages) {
    app.get(`/${name}`, async (request, reply) => send(reply, await app.pages.render(name, visitOf(request))));
  }

  // The pages that links in emails open. Opening one changes nothing, because programs that scan emails do that as well.
  const linkPages: readonly [name: PageName, inspect: (token: string, request: FastifyRequest) => Promise<Link>][] = [
    ['verify-email', (token, request) => app.registration.inspect(token, app.registrationBrowser.hashesIn(request))],
    ['accept-invite', app.invites.inspect],
    ['reset-password', app.passwordReset.inspect],
    ['email-login', app.emailLogin.inspect],
    ['confirm-email', app.emailChanges.inspect],
  ];
  for (const [name, inspect] of linkPages) {
    app.get(`/${name}`, async (request, reply) => {
      const visit = visitOf(request);
      const { token } = visit.query;
      const link =
        typeof token === 'string'
          ? await inspect(token, request).catch((error: unknown) => ({
              reason: error instanceof ApiError ? error.code : 'SERVICE_UNAVAILABLE',
            }))
          : undefined;
      return send(reply, await app.pages.render(name, { ...visit, ...(link === undefined ? {} : { link }) }));
    });
  }

  for (const view of [undefined, ...app.pages.accountViews]) {
    app.get(`/${view ?? ''}`, async (request, reply) => {
      const visit = { ...visitOf(request), ...(view === undefined ? {} : { view }) };
      if (visit.sessionModes.length === 0) {
        return reply.header('cache-control', 'no-store').redirect(app.pages.loginUrl(visit));
      }
      return send(reply, await app.pages.render('account', visit));
    });
  }

  // Browsers get a page instead of the error that clients of the API get.
  app.setErrorHandler(async (error, request, reply) => {
    const isForPerson = request.method === 'GET' && wantsHtml(request);
    if (!isForPerson) throw error;
    const status = error instanceof ApiError ? error.status : 500;
    if (status >= 500) request.log.error({ err: error }, 'a page could not be shown');
    if (error instanceof ApiError && error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
    return send(reply.code(status), await app.pages.renderError(status, visitOf(request)));
  });
  app.setNotFoundHandler((request) => {
    throw routeNotFound(request);
  });
}
