import { errorResponses } from '../../schemas/errors.js';
import { LoginWithPasskeyBody } from '../../schemas/passkeys.js';
import { cookieHeaders, SessionTokensResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

export function loginWithPasskey(app: App): void {
  app.post(
    '/passkey',
    {
      config: { access: 'anonymous', startsSession: true, beforeTfa: true, recordedAs: ['login', 'users'] },
      schema: {
        operationId: 'loginWithPasskey',
        tags: ['Passkeys'],
        summary: 'Log in with a passkey',
        description:
          'Starts a session. Send the credential that the browser returns for the options from `POST /auth/passkey/options`. Each challenge can be used once. If the login fails, the response does not reveal the reason. If the authenticator verified the user, for example with a fingerprint, this counts as two factors. Otherwise, users with two-factor authentication get `INVALID_OTP`. In that case, send the same `credential` again with `otp`. If `AUTH_PASSKEYS` is `false`, this operation fails with `ROUTE_NOT_FOUND`.',
        body: LoginWithPasskeyBody,
        response: {
          200: { ...SessionTokensResponse, description: 'The login succeeded.', headers: cookieHeaders },
          ...errorResponses('FORBIDDEN', 'INVALID_OTP', 'ROUTE_NOT_FOUND'),
        },
      },
    },
    async (request, reply) => {
      const { credential, otp, mode = 'json' } = request.body;
      return { data: reply.sendTokens(await app.sessions.loginWithPasskey({ credential, otp, mode }, request.client)) };
    },
  );
}
