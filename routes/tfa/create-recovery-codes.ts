import { errorResponses } from '../../schemas/errors.js';
import { CreateRecoveryCodesBody, RecoveryCodesResponse } from '../../schemas/tfa.js';
import type { App } from '../app.js';

/** Codes for the day on which the authenticator app is lost. */
export function createRecoveryCodes(app: App): void {
  app.post(
    '/me/tfa/recovery-codes',
    {
      schema: {
        operationId: 'createRecoveryCodes',
        tags: ['Two-factor authentication'],
        summary: 'Make new recovery codes',
        description:
          'Ten codes in place of all earlier ones; they are never shown again. Needs a fresh proof of who is asking, `password` or `otp`, and the same right as turning it on.',
        body: CreateRecoveryCodesBody,
        response: {
          200: { ...RecoveryCodesResponse, description: 'The codes.' },
          ...errorResponses('FORBIDDEN', 'INVALID_OTP'),
        },
      },
    },
    async (request) => ({ data: await app.tfa.renewRecoveryCodes(request.currentUser, request.body, request.client) }),
  );
}
