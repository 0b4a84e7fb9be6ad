import { errorResponses } from '../../schemas/errors.js';
import { GlobalsResponse } from '../../schemas/policies.js';
import type { App } from '../app.js';

/** What the policies of the caller say in general (contract 5). */
export function readMyGlobals(app: App): void {
  app.get(
    '/me/globals',
    {
      schema: {
        operationId: 'readMyGlobals',
        tags: ['Policies'],
        summary: 'Read what the policies of the caller add up to',
        description: 'Of who is not logged in: what the public policy says.',
        response: {
          200: { ...GlobalsResponse, description: 'The sum of the policies.' },
          ...errorResponses('FORBIDDEN'),
        },
      },
    },
    async (request) => ({ data: app.users.globalsOf(request.caller) }),
  );
}
