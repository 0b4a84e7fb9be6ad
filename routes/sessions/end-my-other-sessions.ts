import { errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function endMyOtherSessions(app: App): void {
  app.delete(
    '/me/sessions',
    {
      schema: {
        operationId: 'endMyOtherSessions',
        tags: ['Sessions'],
        summary: 'End all one’s other sessions',
        description:
          'The current session stays; none of the others works from the next request on. With a static token, which is of no session, all of them end.',
        response: { 204: noContent('They are ended, or there were none.'), ...errorResponses('FORBIDDEN') },
      },
    },
    async (request, reply) => {
      await app.openSessions.endOthers(request.currentUser);
      return reply.code(204).send();
    },
  );
}
