import { errorResponses } from '../../schemas/errors.js';
import { GlobalsResponse } from '../../schemas/policies.js';
import type { App } from '../app.js';

export function readMyGlobals(app: App): void {
  app.get(
    '/me/globals',
    {
      config: { access: 'permission', scope: 'policies:read', needs: 'nothing' },
      schema: {
        operationId: 'readMyGlobals',
        tags: ['Policies'],
        summary: 'Read your combined policy flags',
        description:
          'Returns `app_access`, `admin_access`, and `enforce_tfa`, combined from all of your policies. If you are not logged in, returns the flags of the public policy.',
        response: {
          200: { ...GlobalsResponse, description: 'The combined flags.' },
          ...errorResponses(),
        },
      },
    },
    async (request) => ({ data: app.users.globalsOf(request.caller) }),
  );
}
