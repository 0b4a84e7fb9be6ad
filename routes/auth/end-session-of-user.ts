import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function endSessionOfUser(app: App): void {
  app.delete(
    '/:id/sessions/:session',
    {
      config: {
        access: 'authenticated',
        scope: 'sessions:delete',
        needs: { collection: 'sessions', action: 'delete' },
        recordedAs: ['session_end', 'users'],
      },
      schema: {
        operationId: 'endSessionOfUser',
        tags: ['Sessions'],
        summary: 'End one user session',
        description:
          'Immediately invalidates all tokens and cookies of the session. Administrators can call it, and so can users who have permission to delete `sessions` and all of the rights that the user has.',
        params: Type.Object({ id: Uuid('The ID of the user.'), session: Uuid('The ID of the session.') }),
        response: { 204: noContent('The session has ended.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      const { id, session } = request.params;
      await app.sessionsOfUsers.end(request.currentUser, id, session);
      return reply.code(204).send();
    },
  );
}
