import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { ProvidersQuery, ProvidersResponse } from '../../schemas/providers.js';
import type { App } from '../app.js';

export function listProviders(app: App): void {
  app.get(
    '/',
    {
      config: { access: 'anonymous' },
      schema: {
        operationId: 'listProviders',
        tags: ['Providers'],
        summary: 'List providers',
        description:
          'Returns the OAuth 2.0 and OpenID Connect providers that users can log in with, with labels and icons for login buttons.',
        // Any value has the same meaning, including a repeated one.
        querystring: Type.Object({ sessionOnly: Type.Optional(Type.Unknown()) }),
        documented: { querystring: ProvidersQuery },
        response: { 200: { ...ProvidersResponse, description: 'The providers.' }, ...errorResponses() },
      },
    },
    async ({ query }) => ({
      data: app.listProviders({ sessionOnly: query.sessionOnly !== undefined }),
      disableDefault: app.config.AUTH_DISABLE_DEFAULT,
    }),
  );
}
