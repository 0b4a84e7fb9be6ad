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
          'Changes the email address with the token from the link. All sessions of the user end, except the one that makes this request, if any. Fails with `FORBIDDEN` when the link has been used or canceled, or when another user has taken the address in the meantime.',
        body: EmailConfirmBody,
        response: { 204: noContent('The address is changed.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.emailChanges.confirm(request.body.token, request.principal, request.client);
      return reply.code(204).send();
    },
  );
}
