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
          'Returns ten recovery codes, which replace all earlier ones and are never returned again. Requires a fresh session, and `password` or `otp` in the body.',
        body: CreateRecoveryCodesBody,
        response: {
          200: { ...RecoveryCodesResponse, description: 'The codes.' },
          ...errorResponses('INVALID_OTP'),
        },
      },
    },
    async (request) => ({ data: await app.tfa.renewRecoveryCodes(request.currentUser, request.body) }),
  );
}
