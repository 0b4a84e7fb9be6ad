import { errorResponses } from '../../schemas/errors.js';
import { EmailConfirmBody } from '../../schemas/own-account.js';
import { type App, noContent } from '../app.js';

export function confirmEmailChange(app: App): void {
  app.post(
    '/me/email/confirm',
    {
      config: { access: 'anonymous', recordedAs: ['email_change', 'users'] },
      schema: {
        operationId: 'confirmEmailChange',
        tags: ['Own account'],
        summary: 'Confirm an email change',
        description:
          'Changes your email address, using the token from the confirmation link. All of your sessions end, except the one that sends this request, if any. Fails with `FORBIDDEN` if the link has been used, the change has been canceled, or another user now has the address.',
        body: EmailConfirmBody,
        response: { 204: noContent('The address has been changed.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.emailChanges.confirm(request.body.token, request.principal, request.client);
      return reply.code(204).send();
    },
  );
}
