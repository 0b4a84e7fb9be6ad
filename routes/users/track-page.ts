import { errorResponses } from '../../schemas/errors.js';
import { TrackPageBody } from '../../schemas/users.js';
import { type App, noContent } from '../app.js';

export function trackPage(app: App): void {
  app.patch(
    '/me/track/page',
    {
      config: {
        access: 'authenticated',
        scope: 'users:update',
        notRecorded: 'The page that a user visits is neither authentication nor administration.',
        writesUnrecorded: true,
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'trackPage',
        tags: ['Users'],
        summary: 'Track the current page',
        description: 'Stores the last page that you visited. Requires no permission.',
        body: TrackPageBody,
        response: { 204: noContent('The page has been stored.'), ...errorResponses('VALUE_TOO_LONG') },
      },
    },
    async (request, reply) => {
      await app.users.trackPage(request.currentUser, request.body.last_page);
      return reply.code(204).send();
    },
  );
}
