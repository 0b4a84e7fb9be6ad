import type { FastifyRequest } from 'fastify';
import { ApiError } from '../../schemas/errors.js';
import type { App } from '../app.js';

const visitorPages = [
  'login',
  'forgot-password',
  'reset-password',
  'accept-invite',
  'register',
  'verified',
  'confirm-email',
  'cancel-email-change',
] as const;

/** The pages are open to anyone, so an invalid session cookie does not keep users from signing in again. */
export function pageRoutes(app: App): void {
  const visitOf = ({ query, headers, cookies }: FastifyRequest) => ({
    query: query as Record<string, unknown>,
    acceptLanguage: headers['accept-language'],
    hasSession: cookies[app.config.SESSION_COOKIE_NAME] !== undefined,
  });

  for (const name of visitorPages) {
    app.get(`/${name}`, { schema: { hide: true } }, async (request, reply) => {
      const { html, headers } = await app.pages.render(name, visitOf(request));
      return reply.headers(headers).send(html);
    });
  }

  // Changes nothing, because programs that scan emails open links.
  app.get('/verify-email', { schema: { hide: true } }, async (request, reply) => {
    const visit = visitOf(request);
    const { token } = visit.query;
    const confirmation =
      typeof token === 'string'
        ? await app.registration
            .inspect(token, app.registrationBrowser.hashesIn(request))
            .catch((error: unknown) => ({ reason: error instanceof ApiError ? error.code : 'SERVICE_UNAVAILABLE' }))
        : undefined;
    const { html, headers } = await app.pages.render('verify-email', {
      ...visit,
      ...(confirmation === undefined ? {} : { confirmation }),
    });
    return reply.headers(headers).send(html);
  });

  app.get('/', { schema: { hide: true } }, async (request, reply) => {
    const visit = visitOf(request);
    if (!visit.hasSession) {
      return reply.header('cache-control', 'no-store').redirect(app.pages.loginUrl(visit));
    }
    const { html, headers } = await app.pages.render('account', visit);
    return reply.headers(headers).send(html);
  });
}
