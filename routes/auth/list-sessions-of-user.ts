import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { SessionsResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

export function listSessionsOfUser(app: App): void {
  app.get(
    '/:id/sessions',
    {
      config: { access: 'authenticated', needs: 'administrator' },
      schema: {
        operationId: 'listSessionsOfUser',
        tags: ['Sessions'],
        summary: 'List sessions of a user',
        description:
          'Administrators only. Returns the active sessions of the user, most recently used first, up to 1000.',
        params: Type.Object({ id: Uuid('Identifier of the user.') }),
        response: { 200: { ...SessionsResponse, description: 'The sessions.' }, ...errorResponses() },
      },
    },
    async (request) => ({ data: await app.openSessions.listOf(request.currentUser, request.params.id) }),
  );
}
