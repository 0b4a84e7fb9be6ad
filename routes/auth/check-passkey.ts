import { errorResponses } from '../../schemas/errors.js';
import { CheckPasskeyBody, CheckPasskeyResponse } from '../../schemas/passkeys.js';
import type { App } from '../app.js';

export function checkPasskey(app: App): void {
  app.post(
    '/passkey/check',
    {
      config: { access: 'anonymous', beforeTfa: true, notRecorded: 'Changes nothing.' },
      schema: {
        operationId: 'checkPasskey',
        tags: ['Passkeys'],
        summary: 'Check whether a passkey exists',
        description:
          'Returns whether the service knows a passkey. A failed login does not reveal this. If the passkey is unknown, for example because a password reset has removed it, call `PublicKeyCredential.signalUnknownCredential()`, so that the browser no longer offers it. The ID of a passkey cannot be guessed, so the response reveals nothing to anyone who does not have the passkey. If `AUTH_PASSKEYS` is `false`, this operation fails with `ROUTE_NOT_FOUND`.',
        body: CheckPasskeyBody,
        response: {
          200: { ...CheckPasskeyResponse, description: 'Whether the passkey exists.' },
          ...errorResponses('FORBIDDEN', 'ROUTE_NOT_FOUND'),
        },
      },
    },
    async (request) => ({ data: { known: await app.passkeyProofs.isKnown(request.body.id) } }),
  );
}
