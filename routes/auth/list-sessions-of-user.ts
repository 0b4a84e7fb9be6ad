import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { SessionsOfUserResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

export function listSessionsOfUser(app: App): void {
  app.get(
    '/:id/sessions',
    {
      config: { access: 'authenticated', scope: 'sessions:read', needs: { collection: 'sessions', action: 'read' } },
      schema: {
        operationId: 'listSessionsOfUser',
        tags: ['Sessions'],
        summary: "List a user's sessions",
        description:
          "Returns up to 1000 of the user's active sessions, most recently used first. Administrators can call it, and so can users who have permission to read `sessions` and all of the rights that the user has. Fields and sessions that you cannot read are omitted.",
        params: Type.Object({ id: Uuid('The ID of the user.') }),
        response: { 200: { ...SessionsOfUserResponse, description: 'The sessions.' }, ...errorResponses() },
      },
    },
    async (request) => ({ data: await app.sessionsOfUsers.list(request.currentUser, request.params.id) }),
  );
}
