import { errorResponses } from '../../schemas/errors.js';
import { cookieHeaders, LoginBody, SessionTokensResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

export function login(app: App): void {
  app.post(
    '/login',
    {
      config: {
        access: 'anonymous',
        startsSession: true,
        beforeTfa: true,
        recordedAs: ['login', 'users'],
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'login',
        tags: ['Authentication'],
        summary: 'Log in with a password',
        description:
          'Starts a session. If the login fails, the response does not reveal whether the email address or the password is wrong. After too many wrong passwords, or five wrong codes, further logins to the account temporarily fail with `REQUESTS_EXCEEDED`. If `AUTH_DISABLE_DEFAULT` is set, this operation fails with `ROUTE_NOT_FOUND`.',
        body: LoginBody,
        response: {
          200: { ...SessionTokensResponse, description: 'The login succeeded.', headers: cookieHeaders },
          ...errorResponses('FORBIDDEN', 'INVALID_OTP', 'ROUTE_NOT_FOUND'),
        },
      },
    },
    async (request, reply) => {
      const { email, password, otp, mode = 'json' } = request.body;
      return { data: reply.sendTokens(await app.sessions.login({ email, password, otp, mode }, request.client)) };
    },
  );
}
