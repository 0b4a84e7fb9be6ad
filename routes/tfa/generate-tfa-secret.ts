import { errorResponses } from '../../schemas/errors.js';
import { GenerateTfaSecretBody, TfaSecret } from '../../schemas/tfa.js';
import type { App } from '../app.js';

export function generateTfaSecret(app: App): void {
  app.post(
    '/me/tfa/generate',
    {
      config: {
        access: 'authenticated',
        credentials: ['session'],
        beforeTfa: true,
        recordedAs: ['tfa_generate', 'users'],
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'generateTfaSecret',
        tags: ['Two-factor authentication'],
        summary: 'Generate an authenticator secret',
        description:
          'Generates a secret for an authenticator app. This is the first step of turning on two-factor authentication. The secret is not stored, and the response is not wrapped in `data`. If you log in with a password, include it in the request, which also makes your session fresh. Your session must already be fresh if you log in another way, or if your passkey is a required second factor.',
        body: GenerateTfaSecretBody,
        response: { 200: TfaSecret, ...errorResponses('REAUTHENTICATION_REQUIRED') },
      },
    },
    async (request) => app.tfa.generate(request.currentUser, request.body.password),
  );
}
