import { errorResponses } from '../../schemas/errors.js';
import { CallbackQuery, ProviderParams, ProviderTokens, redirectHeaders } from '../../schemas/providers.js';
import { browserSession } from '../../schemas/security.js';
import { cookieHeaders } from '../../schemas/sessions.js';
import { type App, noContent } from '../app.js';
import { checkedByTheDomain } from '../items/definition.js';
import { deadlineOfProviders } from './deadline.js';
import { inPopup } from './popup.js';

/** The way back from a provider. */
export const finishOAuthLogin = (app: App): void =>
  finishLogin(app, '/oauth', 'finishOAuthLogin', 'Come back from a provider');

/** The same, at the address that providers are given. */
export const finishProviderLogin = (app: App): void =>
  finishLogin(app, '/login', 'finishProviderLogin', 'Come back from a provider, at the address to register there');

/** Both answer alike: what counts is the form that the login was begun with. */
function finishLogin(app: App, family: string, operationId: string, summary: string): void {
  app.get(
    `${family}/:provider/callback`,
    {
      config: { deadline: deadlineOfProviders, headers: inPopup },
      schema: {
        operationId,
        tags: ['Providers'],
        summary,
        description:
          'The provider redirects the browser to this URL. The response depends on which operation started the login, not on which of the two callback URLs is used. For a user with two-factor authentication, it is `INVALID_OTP`; then complete the login with a code.',
        security: browserSession,
        params: ProviderParams,
        querystring: CallbackQuery,
        response: {
          200: { ...ProviderTokens, description: 'Logged in, without `redirect`.', headers: cookieHeaders },
          302: {
            ...noContent('Redirects to `redirect`. If the login failed, `reason` contains the error code.'),
            headers: redirectHeaders,
          },
          ...errorResponses('ROUTE_NOT_FOUND', 'INVALID_OTP', 'INVALID_PROVIDER', 'INVALID_PROVIDER_CONFIG'),
        },
      },
      validatorCompiler: checkedByTheDomain,
    },
    async (request, reply) => {
      const end = await app.providerFlow.finish(request, reply);
      if ('to' in end) return reply.redirect(end.to);
      return { public: true as const, data: end.tokens };
    },
  );
}
