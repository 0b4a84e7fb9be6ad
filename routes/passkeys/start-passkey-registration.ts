import { errorResponses } from '../../schemas/errors.js';
import { PasskeyCreationOptionsResponse } from '../../schemas/passkeys.js';
import type { App } from '../app.js';

export function startPasskeyRegistration(app: App): void {
  app.post(
    '/me/passkeys/options',
    {
      config: {
        access: 'authenticated',
        requiresFresh: true,
        refusesManagedUsers: true,
        beforeTfa: true,
        isSelfService: true,
        notRecorded: 'Changes nothing until the passkey is added, which is recorded.',
      },
      schema: {
        operationId: 'startPasskeyRegistration',
        tags: ['Passkeys'],
        summary: 'Get passkey creation options',
        description:
          'Returns the options for `navigator.credentials.create()`. Pass them to the browser, and send the result to `POST /users/me/passkeys` within five minutes. A user can have at most 25 passkeys. If `AUTH_PASSKEYS` is `false`, this operation fails with `ROUTE_NOT_FOUND`.',
        response: {
          200: { ...PasskeyCreationOptionsResponse, description: 'The options.' },
          ...errorResponses('ROUTE_NOT_FOUND'),
        },
      },
    },
    async (request) => ({ data: await app.passkeys.start(request.currentUser) }),
  );
}
