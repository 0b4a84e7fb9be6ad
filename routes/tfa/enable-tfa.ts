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
          'After this, each login requires a code; static tokens still work without one. Your other sessions end. Requires a fresh session, but no permission.',
        body: EnableTfaBody,
        response: { 204: noContent('Two-factor authentication is on.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.tfa.enable(request.currentUser, request.body.secret, request.body.otp);
      return reply.code(204).send();
    },
  );
}
