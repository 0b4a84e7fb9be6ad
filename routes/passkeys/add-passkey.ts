import { errorResponses } from '../../schemas/errors.js';
import { AddPasskeyBody, PasskeyResponse } from '../../schemas/passkeys.js';
import type { App } from '../app.js';

export function addPasskey(app: App): void {
  app.post(
    '/me/passkeys',
    {
      config: {
        access: 'authenticated',
        requiresFresh: true,
        refusesManagedUsers: true,
        beforeTfa: true,
        isSelfService: true,
        recordedAs: ['passkey_add', 'passkeys'],
      },
      schema: {
        operationId: 'addPasskey',
        tags: ['Passkeys'],
        summary: 'Add a passkey',
        description:
          'Adds a passkey to your account, so that you can log in with it. Send the credential that the browser returns for the options from `POST /users/me/passkeys/options`. If the passkey cannot be verified, the response is `INVALID_PAYLOAD`, regardless of the reason. If `enforce_tfa` requires you to set up a second factor, the passkey must verify you, and adding it lifts the restriction of your session. If you omit `name`, the passkey is named after the browser. If `AUTH_PASSKEYS` is `false`, this operation fails with `ROUTE_NOT_FOUND`.',
        body: AddPasskeyBody,
        response: {
          200: { ...PasskeyResponse, description: 'The new passkey.' },
          ...errorResponses('ROUTE_NOT_FOUND'),
        },
      },
    },
    async (request) => {
      const { credential, name } = request.body;
      return { data: await app.passkeys.add(request.currentUser, credential, name) };
    },
  );
}
