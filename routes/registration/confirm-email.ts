import { errorResponses } from '../../schemas/errors.js';
import { ConfirmEmailBody } from '../../schemas/registration.js';
import { type App, noContent } from '../app.js';

export function confirmEmail(app: App): void {
  app.post(
    '/register/verify-email',
    {
      config: { access: 'anonymous', recordedAs: ['email_verified', 'users'] },
      schema: {
        operationId: 'confirmEmail',
        tags: ['Registration'],
        summary: 'Confirm a registration',
        description:
          'Activates the user. The verification link opens a page that calls this operation. In the browser that was used to register, the token is sufficient. In any other browser, `password` is required and becomes the password of the account, so that only the owner of the mailbox knows it. Fails with `INVALID_PAYLOAD` if the link has been used, if another registration has invalidated it, or if the user was deleted or their status was changed.',
        body: ConfirmEmailBody,
        response: {
          204: {
            ...noContent('The user is active.'),
            headers: { 'set-cookie': { type: 'string', description: 'Clears the registration cookie.' } },
          },
          ...errorResponses('FAILED_VALIDATION'),
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
