import { errorResponses } from '../../schemas/errors.js';
import { DisableTfaBody } from '../../schemas/tfa.js';
import { type App, noContent } from '../app.js';

export function disableTfa(app: App): void {
  app.post(
    '/me/tfa/disable',
    {
      config: {
        access: 'authenticated',
        credentials: ['session'],
        beforeTfa: true,
        recordedAs: ['tfa_disable', 'users'],
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'disableTfa',
        tags: ['Two-factor authentication'],
        summary: 'Turn off two-factor authentication',
        description:
          'Turns off two-factor authentication, deletes your recovery codes, and ends your other sessions. The code confirms your identity, so the session does not have to be fresh. Requires no permission.',
        body: DisableTfaBody,
        response: {
          204: noContent('Two-factor authentication is turned off.'),
          ...errorResponses(),
        },
      },
    },
    async (request, reply) => {
      await app.tfa.disable(request.currentUser, request.body.otp);
      return reply.code(204).send();
    },
  );
}
