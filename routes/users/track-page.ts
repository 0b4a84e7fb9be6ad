import { errorResponses } from '../../schemas/errors.js';
import { TrackPageBody } from '../../schemas/users.js';
import { type App, noContent } from '../app.js';

/** Operation 23 (contract 2.14). */
export function trackPage(app: App): void {
  app.patch(
    '/me/track/page',
    {
      schema: {
        operationId: 'trackPage',
        tags: ['Users'],
        summary: 'Note the page that the current user is on',
        description: 'Every user may, whatever their permissions.',
        body: TrackPageBody,
        response: { 204: noContent('It is noted.'), ...errorResponses('FORBIDDEN', 'VALUE_TOO_LONG') },
      },
    },
    async (request, reply) => {
      await app.users.trackPage(request.currentUser, request.body.last_page);
      return reply.code(204).send();
    },
  );
}
