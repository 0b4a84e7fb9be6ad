import { errorResponses } from '../../schemas/errors.js';
import { IdentitiesResponse } from '../../schemas/providers.js';
import type { App } from '../app.js';

export function listIdentities(app: App): void {
  app.get(
    '/me/identities',
    {
      config: { access: 'authenticated' },
      schema: {
        operationId: 'listIdentities',
        tags: ['Providers'],
        summary: 'List your linked accounts',
        description: 'Returns the provider accounts that you can log in with, the primary one first.',
        response: {
          200: { ...IdentitiesResponse, description: 'The linked accounts.' },
          ...errorResponses(),
        },
      },
    },
    async (request) => ({ data: await app.identities.list(request.currentUser) }),
  );
}
