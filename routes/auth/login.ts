import { errorResponses } from '../../schemas/errors.js';
import { cookieHeaders, LoginBody, SessionTokensResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

/** Operation 1 (contract 2.1). */
export function login(app: App): void {
  app.post(
    '/login',
    {
      // Somebody's browser is not to be logged in to an account of another page's choice.
      preHandler: async (request) => {
        if ((request.body.mode ?? 'json') !== 'json') request.requireOwnSite();
      },
      schema: {
        operationId: 'login',
        tags: ['Authentication'],
        summary: 'Log in with e-mail and password',
        description:
          'Begins a session. Whatever is wrong with the e-mail address or the password, the answer is the same. After too many wrong passwords in a row for an account, or five wrong codes, none is looked at for a while. There is no such route while AUTH_DISABLE_DEFAULT is set.',
        body: LoginBody,
        response: {
          200: { ...SessionTokensResponse, description: 'Logged in.', headers: cookieHeaders },
          ...errorResponses('FORBIDDEN', 'INVALID_OTP', 'ROUTE_NOT_FOUND'),
        },
      },
    },
    async (request, reply) => {
      const { email, password, otp, mode = 'json' } = request.body;
      return { data: reply.deliver(await app.sessions.login({ email, password, otp, mode }, request.client)) };
    },
  );
}
