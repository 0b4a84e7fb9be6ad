import { errorResponses } from '../../schemas/errors.js';
import { AccountExportResponse } from '../../schemas/own-account.js';
import type { App } from '../app.js';

export function exportAccount(app: App): void {
  app.get(
    '/me/export',
    {
      config: { access: 'authenticated', requiresSession: true, isSelfService: true, recordedAs: ['export', 'users'] },
      schema: {
        operationId: 'exportAccount',
        tags: ['Own account'],
        summary: 'Export your data',
        description:
          'Returns all data that is stored about you, except secrets, as one JSON document. Requires no permission.',
        response: { 200: { ...AccountExportResponse, description: 'Your data.' }, ...errorResponses() },
      },
    },
    async (request) => ({ data: await app.ownAccount.export(request.currentUser) }),
  );
}
