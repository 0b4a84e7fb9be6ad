import { Type } from '@sinclair/typebox';
import { errorResponses } from '../../schemas/errors.js';
import { CallbackQuery, ProviderParams, ProviderTokens, redirectHeaders } from '../../schemas/providers.js';
import { browserSession } from '../../schemas/security.js';
import { cookieHeaders } from '../../schemas/sessions.js';
import { type App, noContent } from '../app.js';
import { inPopup } from './popup.js';
import { providerTimeoutMs } from './timeout.js';

/** The callback from a provider. */
export const finishOAuthLogin = (app: App): void =>
  finishLogin(app, '/oauth', 'finishOAuthLogin', 'Handle the OAuth callback');

/** The same, at the callback URL that is registered with providers. */
export const finishProviderLogin = (app: App): void =>
  finishLogin(app, '/login', 'finishProviderLogin', 'Handle the provider callback');

/** Both callbacks respond alike. The response depends on the operation that started the login. */
function finishLogin(app: App, family: string, operationId: string, summary: string): void {
  app.get(
    `${family}/:provider/callback`,
    {
      config: {
        access: 'anonymous',
        beforeTfa: true,
        recordedAs: ['login', 'users'],
        timeoutMs: providerTimeoutMs,
        headers: inPopup,
      },
      schema: {
        operationId,
        tags: ['Providers'],
        summary,
        description:
          'The provider redirects the browser to this URL after the login. There are two callback URLs; register `/auth/login/{provider}/callback` with the provider. The response depends on the operation that started the login, not on the callback URL. For a user with two-factor authentication, the login fails with `INVALID_OTP`; complete it with `POST /auth/login/{provider}`.',
        security: browserSession,
        params: ProviderParams,
        // Any value is accepted, because an invalid response ends the login like a failed one, with a redirect.
        querystring: Type.Object({}),
        documented: { querystring: CallbackQuery },
        response: {
          200: {
            ...ProviderTokens,
            description: 'The login was started without `redirect`, and it succeeded.',
            headers: cookieHeaders,
          },
          302: {
            ...noContent(
              'Redirects to `redirect`. If the login failed, the query parameter `reason` contains the error code.',
            ),
            headers: redirectHeaders,
          },
          ...errorResponses('ROUTE_NOT_FOUND', 'INVALID_OTP', 'INVALID_PROVIDER', 'INVALID_PROVIDER_CONFIG'),
        },
      },
    },
    async (request, reply) => {
      const end = await app.providerFlow.finish(request, reply);
      if ('to' in end) return reply.redirect(end.to);
      return { public: true as const, data: end.tokens };
    },
  );
}
