import { errorResponses } from '../../schemas/errors.js';
import { ProviderKeysResponse } from '../../schemas/providers.js';
import type { App } from '../app.js';

export function listProviderKeys(app: App): void {
  app.get(
    '/oauth',
    {
      config: { access: 'anonymous' },
      schema: {
        operationId: 'listProviderKeys',
        tags: ['Providers'],
        summary: 'List provider keys',
        description: 'Returns the keys of the OAuth 2.0 and OpenID Connect providers that users can log in with.',
        response: { 200: ProviderKeysResponse, ...errorResponses() },
      },
    },
    async () => ({ public: true as const, data: app.listProviders().map(({ name }) => name) }),
  );
}
