import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function endSessionsOfUser(app: App): void {
  app.delete(
    '/:id/sessions',
    {
      config: {
        access: 'authenticated',
        scope: 'sessions:delete',
        needs: 'administrator',
        recordedAs: ['session_end', 'users'],
      },
      schema: {
        operationId: 'endSessionsOfUser',
        tags: ['Sessions'],
        summary: "End a user's sessions",
        description:
          "Ends all of the user's sessions. Static tokens remain valid. If you pass your own ID, your current session also ends. Requires administrator access.",
        params: Type.Object({ id: Uuid('The ID of the user.') }),
        response: { 204: noContent('The sessions have ended, or there were none.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.activeSessions.endAllOf(request.currentUser, request.params.id);
      return reply.code(204).send();
    },
  );
}
