import { errorResponses } from '../../schemas/errors.js';
import { ConfirmEmailBody } from '../../schemas/registration.js';
import { type App, noContent } from '../app.js';

export function confirmEmail(app: App): void {
  app.post(
    '/register/verify-email',
    {
      // Someone who follows a link in an email may still have the cookie of an old session.
      config: { takesDeadCookie: true },
      schema: {
        operationId: 'confirmEmail',
        tags: ['Registration'],
        summary: 'Confirm a registration',
        description:
          'For the page that the link in the email leads to. Activates the user. In the browser that registered, the token is sufficient. In any other browser `password` is required and becomes the password of the account, so the reader of the mailbox ends up with a password that no one else knows. A link that was used, or ended by another registration, a deletion or another status, returns 400 INVALID_PAYLOAD.',
        body: ConfirmEmailBody,
        response: {
          204: {
            ...noContent('The user is active.'),
            headers: { 'set-cookie': { type: 'string', description: 'Clears the cookie of the registration.' } },
          },
          ...errorResponses('FORBIDDEN', 'FAILED_VALIDATION'),
        },
      },
    },
    async (request, reply) => {
      const { token, password } = request.body;
      await app.registration.confirm(token, password, app.registrationBrowser.hashesIn(request), request.client);
      app.registrationBrowser.clear(reply);
      return reply.code(204).send();
    },
  );
}
