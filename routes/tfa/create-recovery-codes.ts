import { errorResponses } from '../../schemas/errors.js';
import { CreateRecoveryCodesBody, RecoveryCodesResponse } from '../../schemas/tfa.js';
import type { App } from '../app.js';

/** Recovery codes, for users who lose their authenticator app. */
export function createRecoveryCodes(app: App): void {
  app.post(
    '/me/tfa/recovery-codes',
    {
      config: {
        access: 'authenticated',
        requiresFresh: true,
        beforeTfa: true,
        recordedAs: ['recovery_codes', 'users'],
      },
      schema: {
        operationId: 'createRecoveryCodes',
        tags: ['Two-factor authentication'],
        summary: 'Create new recovery codes',
        description:
          'Creates and returns ten recovery codes, which replace all earlier ones. You cannot retrieve them again. Requires either `password` or `otp` in the body.',
        body: CreateRecoveryCodesBody,
        response: {
          200: { ...RecoveryCodesResponse, description: 'The recovery codes.' },
          ...errorResponses('INVALID_OTP'),
        },
      },
    },
    async (request) => ({ data: await app.tfa.renewRecoveryCodes(request.currentUser, request.body) }),
  );
}
