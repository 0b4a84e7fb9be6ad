import { errorResponses } from '../../schemas/errors.js';
import { EnableTfaBody } from '../../schemas/tfa.js';
import { type App, noContent } from '../app.js';

export function enableTfa(app: App): void {
  app.post(
    '/me/tfa/enable',
    {
      config: {
        access: 'authenticated',
        requiresFresh: true,
        beforeTfa: true,
        recordedAs: ['tfa_enable', 'users'],
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'enableTfa',
        tags: ['Two-factor authentication'],
        summary: 'Turn on two-factor authentication',
        description:
          'Turns on two-factor authentication and ends your other sessions. From then on, each login requires a code, except with a passkey that verifies you. Static tokens still work without one. Requires no permission.',
        body: EnableTfaBody,
        response: { 204: noContent('Two-factor authentication is turned on.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.tfa.enable(request.currentUser, request.body.secret, request.body.otp);
      return reply.code(204).send();
    },
  );
}
