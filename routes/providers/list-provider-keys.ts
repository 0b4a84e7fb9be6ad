import { errorResponses } from '../../schemas/errors.js';
import { ProviderKeysResponse } from '../../schemas/providers.js';
import type { App } from '../app.js';

/** Operation 3 (contract 2.4). */
export function listProviderKeys(app: App): void {
  app.get(
    '/oauth',
    {
      schema: {
        operationId: 'listProviderKeys',
        tags: ['Providers'],
        summary: 'List the providers by their keys',
        description: 'The OAuth2 and OpenID Connect providers that one can log in with.',
        response: { 200: ProviderKeysResponse, ...errorResponses('FORBIDDEN') },
      },
    },
    async () => ({ public: true as const, data: app.listProviders().map(({ name }) => name) }),
  );
}
