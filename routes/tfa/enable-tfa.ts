import { errorResponses } from '../../schemas/errors.js';
import { EnableTfaBody } from '../../schemas/tfa.js';
import { type App, noContent } from '../app.js';

/** Operation 21 (contract 2.13). */
export function enableTfa(app: App): void {
  app.post(
    '/me/tfa/enable',
    {
      schema: {
        operationId: 'enableTfa',
        tags: ['Two-factor authentication'],
        summary: 'Turn two-factor authentication on',
        description:
          'From now on a login needs a code besides; static tokens go on without. The other sessions of the user end. Needs the right to update one’s own `tfa_secret`, unless a policy demands two-factor authentication of the user.',
        body: EnableTfaBody,
        response: { 204: noContent('It is on.'), ...errorResponses('FORBIDDEN', 'FAILED_VALIDATION') },
      },
    },
    async (request, reply) => {
      await app.tfa.enable(request.currentUser, request.body.secret, request.body.otp);
      return reply.code(204).send();
    },
  );
}
