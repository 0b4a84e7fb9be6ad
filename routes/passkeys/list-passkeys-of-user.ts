import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { PasskeysResponse } from '../../schemas/passkeys.js';
import type { App } from '../app.js';

export function listPasskeysOfUser(app: App): void {
  app.get(
    '/:id/passkeys',
    {
      config: { access: 'authenticated', needs: 'administrator' },
      schema: {
        operationId: 'listPasskeysOfUser',
        tags: ['Passkeys'],
        summary: "List a user's passkeys",
        description:
          "Returns the user's passkeys, oldest first. Requires administrator access. If `AUTH_PASSKEYS` is `false`, this operation fails with `ROUTE_NOT_FOUND`.",
        params: Type.Object({ id: Uuid('The ID of the user.') }),
        response: { 200: { ...PasskeysResponse, description: 'The passkeys.' }, ...errorResponses('ROUTE_NOT_FOUND') },
      },
    },
    async (request) => ({ data: await app.passkeys.listOf(request.params.id) }),
  );
}
