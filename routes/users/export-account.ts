import { errorResponses } from '../../schemas/errors.js';
import { AccountExportResponse } from '../../schemas/own-account.js';
import type { App } from '../app.js';

export function exportAccount(app: App): void {
  app.get(
    '/me/export',
    {
      config: {
        access: 'authenticated',
        credentials: ['session'],
        isSelfService: true,
        rateClass: 'export',
        recordedAs: ['export', 'users'],
      },
      schema: {
        operationId: 'exportAccount',
        tags: ['Own account'],
        summary: 'Export your data',
        description:
          'Returns all data that is stored about you, except secrets, as one JSON document. Requires no permission. You can export your data up to 10 times per minute. If too many exports are waiting, the operation returns `SERVICE_UNAVAILABLE`, and `Retry-After` says when to try again.',
        response: { 200: { ...AccountExportResponse, description: 'Your data.' }, ...errorResponses() },
      },
    },
    async (request) => ({ data: await app.ownAccount.export(request.currentUser) }),
  );
}
