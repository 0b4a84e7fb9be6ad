import { errorResponses } from '../../schemas/errors.js';
import { PasskeysResponse } from '../../schemas/passkeys.js';
import type { App } from '../app.js';

export function listPasskeys(app: App): void {
  app.get(
    '/me/passkeys',
    {
      config: { access: 'authenticated', credentials: ['session'], beforeTfa: true, isSelfService: true },
      schema: {
        operationId: 'listPasskeys',
        tags: ['Passkeys'],
        summary: 'List your passkeys',
        description:
          'Returns your passkeys, oldest first. If `AUTH_PASSKEYS` is `false`, this operation fails with `ROUTE_NOT_FOUND`.',
        response: {
          200: { ...PasskeysResponse, description: 'Your passkeys.' },
          ...errorResponses('ROUTE_NOT_FOUND'),
        },
      },
    },
    async (request) => ({ data: await app.passkeys.list(request.currentUser) }),
  );
}
