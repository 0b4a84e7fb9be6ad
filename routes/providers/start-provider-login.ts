import { errorResponses } from '../../schemas/errors.js';
import { ProviderParams, redirectHeaders, StartLoginQuery } from '../../schemas/providers.js';
import { type App, noContent } from '../app.js';
import { inPopup } from './popup.js';
import { providerTimeoutMs } from './timeout.js';

/** The variant for pages: without `redirect`, it ends with a redirect to `/`. */
export function startProviderLogin(app: App): void {
  app.get(
    '/login/:provider',
    {
      // Runs before the query is validated, so that an unknown provider returns ROUTE_NOT_FOUND whatever the query contains.
      onRequest: async (request) => app.providerFlow.requireProvider(request),
      config: { access: 'anonymous', timeoutMs: providerTimeoutMs, headers: inPopup, beforeTfa: true },
      schema: {
        operationId: 'startProviderLogin',
        tags: ['Providers'],
        summary: 'Start a provider login',
        description:
          "Redirects the browser to the provider. Open this URL in a browser. After the login, the service sets the session's cookies and redirects the browser to `redirect`, or to `/` by default. To link a provider account to your account, use `POST /users/me/identities/{id}` with the provider's key.",
        params: ProviderParams,
        querystring: StartLoginQuery,
        response: {
          302: { ...noContent('Redirects to the provider.'), headers: redirectHeaders },
          ...errorResponses('ROUTE_NOT_FOUND', 'INVALID_PROVIDER_CONFIG'),
        },
      },
    },
    async (request, reply) =>
      reply.redirect(await app.providerFlow.begin(request, reply, 'login', request.query.redirect)),
  );
}
