import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function endMyOtherSessions(app: App): void {
  app.delete(
    '/me/sessions',
    {
      config: { access: 'authenticated', recordedAs: ['session_end', 'users'] },
      schema: {
        operationId: 'endMyOtherSessions',
        tags: ['Sessions'],
        summary: 'End your other sessions',
        description:
          'Immediately ends all of your sessions except the current one. If you use a static token, which does not belong to a session, all of your sessions end.',
        response: { 204: noContent('The sessions have ended, or there were none.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.activeSessions.endOthers(request.currentUser);
      return reply.code(204).send();
    },
  );
}
