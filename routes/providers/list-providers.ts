import { errorResponses } from '../../schemas/errors.js';
import { ProvidersQuery, ProvidersResponse } from '../../schemas/providers.js';
import type { App } from '../app.js';
import { checkedByTheDomain } from '../items/definition.js';

/** Operation 3, as clients with pages for signing in need it (contract 2.4). */
export function listProviders(app: App): void {
  app.get(
    '/',
    {
      schema: {
        operationId: 'listProviders',
        tags: ['Providers'],
        summary: 'List the providers',
        description: 'The OAuth2 and OpenID Connect providers that one can log in with, with what buttons need.',
        querystring: ProvidersQuery,
        response: { 200: { ...ProvidersResponse, description: 'The providers.' }, ...errorResponses('FORBIDDEN') },
      },
      validatorCompiler: checkedByTheDomain,
    },
    async ({ query }) => ({
      data: app.listProviders({ sessionOnly: query.sessionOnly !== undefined }),
      disableDefault: app.config.AUTH_DISABLE_DEFAULT,
    }),
  );
}
