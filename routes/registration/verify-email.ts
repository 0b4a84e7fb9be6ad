import { ApiError, errorResponses } from '../../schemas/errors.js';
import { VerifyEmailQuery } from '../../schemas/registration.js';
import { type App, noContent } from '../app.js';

export function verifyEmail(app: App): void {
  const page = `${new URL(app.config.PUBLIC_URL).pathname.replace(/\/$/, '')}/account/verified`;

  app.get(
    '/register/verify-email',
    {
      // Whoever follows a link in a mail may have been signed in here once, and cannot help it.
      schema: {
        operationId: 'verifyEmail',
        tags: ['Registration'],
        summary: 'Verify a registered email address',
        description:
          'Activates the registration that the link belongs to, with its password and names. Only for a `verification_url` whose page calls this operation; programs that scan emails may follow such links. The default link leads to a page that calls `POST /users/register/verify-email`. A client that accepts `text/html` is redirected to a page with the outcome; other clients get the status.',
        querystring: VerifyEmailQuery,
        response: {
          204: noContent('The user is active.'),
          302: {
            ...noContent('Browsers: redirects to a page that shows the outcome.'),
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
