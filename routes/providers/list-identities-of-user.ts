import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { IdentitiesResponse } from '../../schemas/providers.js';
import type { App } from '../app.js';

export function listIdentitiesOfUser(app: App): void {
  app.get(
    '/:id/identities',
    {
      config: { access: 'authenticated', needs: 'administrator' },
      schema: {
        operationId: 'listIdentitiesOfUser',
        tags: ['Providers'],
        summary: "List a user's linked accounts",
        description:
          'Returns the provider accounts that the user can log in with, the primary one first. Requires administrator access.',
        params: Type.Object({ id: Uuid('The ID of the user.') }),
        response: { 200: { ...IdentitiesResponse, description: 'The linked accounts.' }, ...errorResponses() },
      },
    },
    async (request) => ({ data: await app.identities.listOf(request.params.id) }),
  );
}
