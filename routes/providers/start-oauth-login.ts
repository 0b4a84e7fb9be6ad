import { errorResponses } from '../../schemas/errors.js';
import { ProviderParams, redirectHeaders, StartOAuthLoginQuery } from '../../schemas/providers.js';
import { type App, noContent } from '../app.js';
import { checkedByTheDomain } from '../items/definition.js';
import { deadlineOfProviders } from './deadline.js';
import { inPopup } from './popup.js';

/** Operation 4 (contract 2.5). */
export function startOAuthLogin(app: App): void {
  app.get(
    '/oauth/:provider',
    {
      config: { takesDeadCookie: true, deadline: deadlineOfProviders, headers: inPopup },
      schema: {
        operationId: 'startOAuthLogin',
        tags: ['Providers'],
        summary: 'Log in with a provider',
        description:
          'For a browser to go to. In the end it is led to `redirect`, the session in cookies; without one the tokens are answered as JSON.',
        params: ProviderParams,
        querystring: StartOAuthLoginQuery,
        response: {
          302: { ...noContent('To the provider.'), headers: redirectHeaders },
          ...errorResponses('ROUTE_NOT_FOUND', 'INVALID_PROVIDER_CONFIG'),
        },
      },
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => reply.redirect(await app.providerFlow.begin(request, reply, 'oauth')),
  );
}
