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
          'Ends all of your sessions except the current one, with immediate effect. If you call it with a static token, which belongs to no session, all sessions end.',
        response: { 204: noContent('The sessions have ended, or there were none.'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      await app.openSessions.endOthers(request.currentUser);
      return reply.code(204).send();
    },
  );
}
