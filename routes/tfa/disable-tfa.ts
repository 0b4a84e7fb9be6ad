import { errorResponses } from '../../schemas/errors.js';
import { DisableTfaBody } from '../../schemas/tfa.js';
import { type App, noContent } from '../app.js';

/** Operation 20 (contract 2.13). */
export function disableTfa(app: App): void {
  app.post(
    '/me/tfa/disable',
    {
      schema: {
        operationId: 'disableTfa',
        tags: ['Two-factor authentication'],
        summary: 'Turn two-factor authentication off',
        description:
          'The recovery codes are gone with it, and the other sessions of the user end. Needs the right to update one’s own `tfa_secret`.',
        body: DisableTfaBody,
        response: {
          204: noContent('It is off.'),
          ...errorResponses('FORBIDDEN', 'FAILED_VALIDATION'),
        },
      },
    },
    async (request, reply) => {
      await app.tfa.disable(request.currentUser, request.body.otp);
      return reply.code(204).send();
    },
  );
}
