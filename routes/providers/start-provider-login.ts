import { errorResponses } from '../../schemas/errors.js';
import { ProviderParams, redirectHeaders, StartProviderLoginQuery } from '../../schemas/providers.js';
import { browserSession } from '../../schemas/security.js';
import { type App, noContent } from '../app.js';
import { checkedByTheDomain } from '../items/definition.js';
import { deadlineOfProviders } from './deadline.js';
import { inPopup } from './popup.js';

/** Operation 4, the form for pages (contract 2.5). */
export function startProviderLogin(app: App): void {
  app.get(
    '/login/:provider',
    {
      config: { takesDeadCookie: true, deadline: deadlineOfProviders, headers: inPopup },
      schema: {
        operationId: 'startProviderLogin',
        tags: ['Providers'],
        summary: 'Log in with a provider, or link it',
        description:
          'For a browser to go to. In the end it is led to `redirect`, or to `/`, the session in cookies. With `link=true` no session is begun: the account at the provider becomes a further way into the account of who is signed in.',
        security: browserSession,
        params: ProviderParams,
        querystring: StartProviderLoginQuery,
        response: {
          302: { ...noContent('To the provider.'), headers: redirectHeaders },
          ...errorResponses('ROUTE_NOT_FOUND', 'FORBIDDEN', 'INVALID_PROVIDER_CONFIG'),
        },
      },
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => reply.redirect(await app.providerFlow.begin(request, reply, 'login')),
  );
}
