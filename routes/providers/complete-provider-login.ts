import { errorResponses } from '../../schemas/errors.js';
import { CompleteProviderLoginBody, ProviderParams } from '../../schemas/providers.js';
import { cookieHeaders, SessionTokensResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

/** The second step of a provider login, for users with two-factor authentication. */
export function completeProviderLogin(app: App): void {
  app.post(
    '/login/:provider',
    {
      // Runs before the body is read, so that an unknown provider returns ROUTE_NOT_FOUND whatever the body contains.
      onRequest: async (request) => app.providerFlow.requireProvider(request),
      config: { access: 'anonymous', beforeTfa: true, recordedAs: ['login', 'users'], acceptsUnknownKeys: true },
      schema: {
        operationId: 'completeProviderLogin',
        tags: ['Providers'],
        summary: 'Complete a provider login',
        description:
          "Completes a provider login for a user with two-factor authentication. Send the code from the same browser within five minutes of the provider's redirect. The service recognizes the login by a cookie.",
        params: ProviderParams,
        body: CompleteProviderLoginBody,
        response: {
          200: { ...SessionTokensResponse, description: 'The login succeeded.', headers: cookieHeaders },
          ...errorResponses('ROUTE_NOT_FOUND', 'FORBIDDEN', 'INVALID_OTP', 'INVALID_PROVIDER_CONFIG'),
        },
      },
    },
    async (request, reply) => {
      const { otp, mode } = request.body;
      return { data: await app.providerFlow.complete(request, reply, otp, mode) };
    },
  );
}
