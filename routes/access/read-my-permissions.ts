import { errorResponses } from '../../schemas/errors.js';
import { MyPermissionsResponse } from '../../schemas/permissions.js';
import type { App } from '../app.js';

export function readMyPermissions(app: App): void {
  app.get(
    '/me',
    {
      config: { access: 'permission', scope: 'permissions:read', needs: 'nothing' },
      schema: {
        operationId: 'readMyPermissions',
        tags: ['Permissions'],
        summary: 'Read your permissions',
        description:
          'Returns, for each collection and action, whether you have access to all items (`full`), to some (`partial`), or to none (`none`).',
        response: {
          200: { ...MyPermissionsResponse, description: 'Your permissions.' },
          ...errorResponses(),
        },
      },
    },
    async (request) => ({ data: app.users.permissionsOf(request.caller) }),
  );
}
