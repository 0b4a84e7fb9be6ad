import { errorResponses } from '../../schemas/errors.js';
import { CompleteProviderLoginBody, ProviderParams } from '../../schemas/providers.js';
import { cookieHeaders, SessionTokensResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

/** The second step of a login by provider (contract 2.5). */
export function completeProviderLogin(app: App): void {
  app.post(
    '/login/:provider',
    {
      // Before the body is read: a provider that is not there takes none.
      onRequest: async (request) => app.providerFlow.requireProvider(request),
      schema: {
        operationId: 'completeProviderLogin',
        tags: ['Providers'],
        summary: 'Complete a login by provider with a code',
        description:
          'For users with two-factor authentication, within five minutes of their coming back, by the cookie that they were given then.',
        params: ProviderParams,
        body: CompleteProviderLoginBody,
        response: {
          200: { ...SessionTokensResponse, description: 'Logged in.', headers: cookieHeaders },
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
