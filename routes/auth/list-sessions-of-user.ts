import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { SessionsResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

export function listSessionsOfUser(app: App): void {
  app.get(
    '/:id/sessions',
    {
      config: { access: 'authenticated', scope: 'sessions:read', needs: 'administrator' },
      schema: {
        operationId: 'listSessionsOfUser',
        tags: ['Sessions'],
        summary: "List a user's sessions",
        description:
          "Returns up to 1000 of the user's active sessions, most recently used first. Requires administrator access.",
        params: Type.Object({ id: Uuid('The ID of the user.') }),
        response: { 200: { ...SessionsResponse, description: 'The sessions.' }, ...errorResponses() },
      },
    },
    async (request) => ({ data: await app.activeSessions.listOf(request.currentUser, request.params.id) }),
  );
}
