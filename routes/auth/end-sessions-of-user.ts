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
        needs: { collection: 'sessions', action: 'delete' },
        recordedAs: ['session_end', 'users'],
      },
      schema: {
        operationId: 'endSessionsOfUser',
        tags: ['Sessions'],
        summary: "End a user's sessions",
        description:
          "Ends all of the user's sessions. Static tokens remain valid. If you pass your own ID, your current session also ends. Administrators can call it, and so can users who have permission to delete `sessions` and all of the rights that the user has. If there is a session that you cannot end, none are ended.",
        params: Type.Object({ id: Uuid('The ID of the user.') }),
        response: { 204: noContent('The sessions have ended, or there were none.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.sessionsOfUsers.endAll(request.currentUser, request.params.id);
      return reply.code(204).send();
    },
  );
}
