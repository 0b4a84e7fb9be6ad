import { ApiError, errorResponses } from '../../schemas/errors.js';
import { VerifyEmailQuery } from '../../schemas/registration.js';
import { type App, noContent, wantsHtml } from '../app.js';

export function verifyEmail(app: App): void {
  const page = `${app.basePath}/account/verified`;

  app.get(
    '/register/verify-email',
    {
      config: { access: 'anonymous', recordedAs: ['email_verified', 'users'] },
      schema: {
        operationId: 'verifyEmail',
        tags: ['Registration'],
        summary: 'Verify a registered email address',
        description:
          'Activates the user, with the password and names from the registration that the link was sent for. Do not link to this operation from an email, because email scanners may follow the link. If possible, call `POST /users/register/verify-email` instead, as the page behind the default link does. Clients that accept `text/html` are redirected to a page that shows the outcome; other clients receive only a status code.',
        querystring: VerifyEmailQuery,
        response: {
          204: noContent('The user is active.'),
          302: {
            ...noContent('Redirects browsers to a page that shows the outcome.'),
            headers: {
              location: {
                type: 'string',
                description:
                  'The URL of the page. If the verification failed, the query parameter `reason` contains the error code.',
              },
            },
          },
          ...errorResponses('INVALID_QUERY'),
        },
      },
    },
    async (request, reply) => {
      // A HEAD request only checks whether the link works, so it must not use the token.
      if (request.method === 'HEAD') return reply.code(204).send();
      const isBrowser = wantsHtml(request);
      const outcome = await app.registration
        .verify(request.query.token ?? '', request.client)
        .catch((error: unknown) => error);
      if (outcome !== undefined && !(isBrowser && outcome instanceof ApiError)) throw outcome;
      if (!isBrowser) return reply.code(204).send();
      // The refusal is recorded here, because the browser gets a redirect instead of an error response.
      if (outcome !== undefined) await request.recordRefusal(outcome);
      return reply.redirect(outcome instanceof ApiError ? `${page}?reason=${outcome.code}` : page, 302);
    },
  );
}
