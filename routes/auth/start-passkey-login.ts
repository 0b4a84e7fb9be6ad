import { errorResponses } from '../../schemas/errors.js';
import { PasskeyRequestOptionsResponse } from '../../schemas/passkeys.js';
import type { App } from '../app.js';

export function startPasskeyLogin(app: App): void {
  app.post(
    '/passkey/options',
    {
      config: { access: 'anonymous', beforeTfa: true, notRecorded: 'Changes nothing.' },
      schema: {
        operationId: 'startPasskeyLogin',
        tags: ['Passkeys'],
        summary: 'Get passkey login options',
        description:
          'Returns the options for `navigator.credentials.get()`. Pass them to the browser, and send the result to `POST /auth/passkey` or `POST /auth/reauthenticate` within five minutes. They contain no list of credentials, so the browser offers all passkeys that it has for this service. If `AUTH_PASSKEYS` is `false`, this operation fails with `ROUTE_NOT_FOUND`.',
        response: {
          200: { ...PasskeyRequestOptionsResponse, description: 'The options.' },
          ...errorResponses('FORBIDDEN', 'ROUTE_NOT_FOUND'),
        },
      },
    },
    async () => ({ data: app.webauthn.requestOptions() }),
  );
}
