import { errorResponses } from '../../schemas/errors.js';
import { ProviderParams, redirectHeaders, StartLoginQuery } from '../../schemas/providers.js';
import { type App, noContent } from '../app.js';
import { inPopup } from './popup.js';
import { providerTimeoutMs } from './timeout.js';

export function startOAuthLogin(app: App): void {
  app.get(
    '/oauth/:provider',
    {
      // Runs before the query is validated, so that an unknown provider returns ROUTE_NOT_FOUND whatever the query contains.
      onRequest: async (request) => app.providerFlow.requireProvider(request),
      config: { access: 'anonymous', timeoutMs: providerTimeoutMs, headers: inPopup, beforeTfa: true },
      schema: {
        operationId: 'startOAuthLogin',
        tags: ['Providers'],
        summary: 'Start an OAuth login',
        description:
          "Redirects the browser to the provider. Open this URL in a browser. After the login, the service sets the session's cookies and redirects the browser to `redirect`. Without `redirect`, it returns the tokens as JSON.",
        params: ProviderParams,
        querystring: StartLoginQuery,
        response: {
          302: { ...noContent('Redirects to the provider.'), headers: redirectHeaders },
          ...errorResponses('ROUTE_NOT_FOUND', 'INVALID_PROVIDER_CONFIG'),
        },
      },
    },
    async (request, reply) =>
      reply.redirect(await app.providerFlow.begin(request, reply, 'oauth', request.query.redirect)),
  );
}
