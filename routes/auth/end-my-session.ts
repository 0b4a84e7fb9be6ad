import { Type } from '@sinclair/typebox';
import { Uuid } from '../../schemas/common.js';
import { errorResponses } from '../../schemas/errors.js';
import { clearedCookieHeaders } from '../../schemas/sessions.js';
import { type App, noContent } from '../app.js';

export function endMySession(app: App): void {
  app.delete(
    '/me/sessions/:id',
    {
      config: { access: 'authenticated', recordedAs: ['session_end', 'sessions'] },
      schema: {
        operationId: 'endMySession',
        tags: ['Sessions'],
        summary: 'End one of your sessions',
        description:
          'Immediately invalidates all tokens and cookies of the session. If you end the current session, you are logged out, and the authentication cookies sent with the request are cleared.',
        params: Type.Object({ id: Uuid('The ID of the session.') }),
        response: {
          204: { ...noContent('The session has ended.'), headers: clearedCookieHeaders },
          ...errorResponses(),
        },
      },
    },
    async (request, reply) => {
      const isCurrent = await app.activeSessions.endOwn(request.currentUser, request.params.id);
      if (isCurrent) reply.clearReceivedCookies();
      return reply.code(204).send();
    },
  );
}
