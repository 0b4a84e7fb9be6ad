import { errorResponses } from '../../schemas/errors.js';
import { GrantsResponse } from '../../schemas/grants.js';
import type { App } from '../app.js';

export function listMyGrants(app: App): void {
  app.get(
    '/me/grants',
    {
      config: { access: 'authenticated', credentials: ['session'] },
      schema: {
        operationId: 'listMyGrants',
        tags: ['Grants'],
        summary: 'List applications with access',
        description:
          'Returns the applications to which you have given access, most recently used first. Applications of the project itself (`first_party`) are not listed.',
        response: { 200: { ...GrantsResponse, description: 'Your grants.' }, ...errorResponses() },
      },
    },
    async (request) => ({ data: await app.grants.listOwn(request.currentUser) }),
  );
}
