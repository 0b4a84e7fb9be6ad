import { errorResponses } from '../../schemas/errors.js';
import { CreateRecoveryCodesBody, RecoveryCodesResponse } from '../../schemas/tfa.js';
import type { App } from '../app.js';

/** Codes for the day on which the authenticator app is lost. */
export function createRecoveryCodes(app: App): void {
  app.post(
    '/me/tfa/recovery-codes',
    {
      config: { requiresFresh: true },
      schema: {
        operationId: 'createRecoveryCodes',
        tags: ['Two-factor authentication'],
        summary: 'Create new recovery codes',
        description:
          'Returns ten recovery codes, which replace all earlier ones and are never shown again. Requires a fresh session, and `password` or `otp` in the body.',
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
