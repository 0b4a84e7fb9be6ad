import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { GrantsResponse } from '../../schemas/grants.js';
import type { App } from '../app.js';

export function listGrantsOfUser(app: App): void {
  app.get(
    '/:id/grants',
    {
      config: { access: 'authenticated', needs: 'administrator' },
      schema: {
        operationId: 'listGrantsOfUser',
        tags: ['Grants'],
        summary: "List a user's applications",
        description:
          'Returns the applications to which a user has given access, most recently used first. Requires administrator access.',
        params: Type.Object({ id: Uuid('The ID of the user.') }),
        response: { 200: { ...GrantsResponse, description: 'The grants of the user.' }, ...errorResponses() },
      },
    },
    async (request) => ({ data: await app.grants.listOf(request.params.id) }),
  );
}
