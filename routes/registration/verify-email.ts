import { ApiError, errorResponses } from '../../schemas/errors.js';
import { VerifyEmailQuery } from '../../schemas/registration.js';
import { type App, noContent } from '../app.js';

/** Operation 25 (contract 2.15). */
export function verifyEmail(app: App): void {
  const page = `${new URL(app.config.PUBLIC_URL).pathname.replace(/\/$/, '')}/account/verified`;

  app.get(
    '/register/verify-email',
    {
      // Whoever follows a link in a mail may have been signed in here once, and cannot help it.
      config: { takesDeadCookie: true },
      schema: {
        operationId: 'verifyEmail',
        tags: ['Registration'],
        summary: 'Verify the e-mail address of a registration',
        description:
          'Where the link in the mail leads. Makes the user active. A client that accepts `text/html` is sent on to a page that says how it went; others get the status.',
        querystring: VerifyEmailQuery,
        response: {
          204: noContent('The user is active.'),
          302: {
            ...noContent('For browsers: to the page that says how it went.'),
            headers: { location: { type: 'string', description: 'The page; `reason` in it is an error code.' } },
          },
          ...errorResponses('INVALID_QUERY', 'FORBIDDEN'),
        },
      },
    },
    async (request, reply) => {
      // What only looks whether the link leads anywhere uses nothing up.
      if (request.method === 'HEAD') return reply.code(204).send();
      const isBrowser = /\btext\/html\b/i.test(request.headers.accept ?? '');
      const outcome = await app.registration
        .verify(request.query.token ?? '', request.client)
        .catch((error: unknown) => error);
      if (outcome !== undefined && !(isBrowser && outcome instanceof ApiError)) throw outcome;
      if (!isBrowser) return reply.code(204).send();
      // The browser is led on with the reason: no error is answered that would be recorded.
      if (outcome !== undefined) await request.recordRefusal(outcome);
      return reply.redirect(outcome instanceof ApiError ? `${page}?reason=${outcome.code}` : page, 302);
    },
  );
}
