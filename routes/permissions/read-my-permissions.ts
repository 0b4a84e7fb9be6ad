import { errorResponses } from '../../schemas/errors.js';
import { MyPermissionsResponse } from '../../schemas/permissions.js';
import type { App } from '../app.js';

/** What the caller may do (contract 5). */
export function readMyPermissions(app: App): void {
  app.get(
    '/me',
    {
      schema: {
        operationId: 'readMyPermissions',
        tags: ['Permissions'],
        summary: 'Read what the caller may do',
        description: 'For each collection and action: with all items (`full`), with some (`partial`), or with none.',
        response: {
          200: { ...MyPermissionsResponse, description: 'The permissions of the caller.' },
          ...errorResponses('FORBIDDEN'),
        },
      },
    },
    async (request) => ({ data: app.users.permissionsOf(request.caller) }),
  );
}
