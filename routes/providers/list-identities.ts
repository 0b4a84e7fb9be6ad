import { errorResponses } from '../../schemas/errors.js';
import { IdentitiesResponse } from '../../schemas/providers.js';
import type { App } from '../app.js';

export function listIdentities(app: App): void {
  app.get(
    '/me/identities',
    {
      schema: {
        operationId: 'listIdentities',
        tags: ['Providers'],
        summary: 'List one’s accounts at providers',
        description: 'The accounts that log the current user in, the primary one first.',
        response: {
          200: { ...IdentitiesResponse, description: 'The accounts.' },
          ...errorResponses('FORBIDDEN'),
        },
      },
    },
    async (request) => ({ data: await app.identities.list(request.currentUser) }),
  );
}
