import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { PasskeyResponse, RenamePasskeyBody } from '../../schemas/passkeys.js';
import type { App } from '../app.js';

export function renamePasskey(app: App): void {
  app.patch(
    '/me/passkeys/:id',
    {
      config: {
        access: 'authenticated',
        credentials: ['session'],
        beforeTfa: true,
        isSelfService: true,
        recordedAs: ['update', 'passkeys'],
      },
      schema: {
        operationId: 'renamePasskey',
        tags: ['Passkeys'],
        summary: 'Rename a passkey',
        description:
          'Changes the name of one of your passkeys. Fails with `FORBIDDEN` if you have no such passkey. If `AUTH_PASSKEYS` is `false`, this operation fails with `ROUTE_NOT_FOUND`.',
        params: Type.Object({ id: Uuid('The ID of the passkey.') }),
        body: RenamePasskeyBody,
        response: {
          200: { ...PasskeyResponse, description: 'The passkey with its new name.' },
          ...errorResponses('ROUTE_NOT_FOUND'),
        },
      },
    },
    async (request) => ({
      data: await app.passkeys.rename(request.currentUser, request.params.id, request.body.name),
    }),
  );
}
