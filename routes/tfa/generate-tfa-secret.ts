import { errorResponses } from '../../schemas/errors.js';
import { GenerateTfaSecretBody, TfaSecret } from '../../schemas/tfa.js';
import type { App } from '../app.js';

/** Operation 22 (contract 2.13). */
export function generateTfaSecret(app: App): void {
  app.post(
    '/me/tfa/generate',
    {
      schema: {
        operationId: 'generateTfaSecret',
        tags: ['Two-factor authentication'],
        summary: 'Make a secret for an authenticator app',
        description:
          'The first step of turning it on: nothing is stored, and nothing changes. The answer is not wrapped.',
        body: GenerateTfaSecretBody,
        response: { 200: TfaSecret, ...errorResponses('FORBIDDEN') },
      },
    },
    async (request) => app.tfa.generate(request.currentUser, request.body.password, request.client),
  );
}
