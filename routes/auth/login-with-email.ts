import type { FastifyRequest } from 'fastify';
import { LoginWithEmailBody } from '../../schemas/email-login.js';
import { ApiError, errorResponses } from '../../schemas/errors.js';
import { cookieHeaders, SessionTokensResponse } from '../../schemas/sessions.js';
import type { App } from '../app.js';

export function loginWithEmail(app: App): void {
  app.post(
    '/email',
    {
      config: { access: 'anonymous', startsSession: true, beforeTfa: true, recordedAs: ['login', 'users'] },
      schema: {
        operationId: 'loginWithEmail',
        tags: ['Authentication'],
        summary: 'Log in by email',
        description:
          'Starts a session with the code or link from an email that `POST /auth/email/request` sent. Each email can be used once. After five wrong codes from the browser that requested the email, its code becomes invalid; the link remains valid. If the login fails, the response does not reveal the reason. Wrong codes count as failed login attempts. After `INVALID_OTP`, send the same code or token again with `otp`. The login also verifies the email address. Fails with `FORBIDDEN` unless the setting `email_login` is turned on.',
        body: LoginWithEmailBody,
        response: {
          200: { ...SessionTokensResponse, description: 'The login succeeded.', headers: cookieHeaders },
          ...errorResponses('FORBIDDEN', 'INVALID_OTP'),
        },
      },
    },
    async (request, reply) => {
      const { mode = 'json', otp } = request.body;
      const issued = await app.emailLogin.login(credentialIn(request, request.body), { mode, otp }, request.client);
      const isBrowser = app.emailLoginBrowser.hashesIn(request).length > 0;
      return { data: reply.sendTokens(issued, { isBrowser }) };
    },
  );

  const credentialIn = (
    request: FastifyRequest,
    { email, code, token, binding }: { email?: string; code?: string; token?: string; binding?: string },
  ) => {
    if (token !== undefined && email === undefined && code === undefined && binding === undefined) return { token };
    if (token === undefined && email !== undefined && code !== undefined) {
      const hashes = app.emailLoginBrowser.hashesIn(request);
      const bindings =
        binding === undefined ? hashes.map((hash) => ['browser', hash] as const) : [['app', binding] as const];
      return { email, code, bindings };
    }
    throw new ApiError('INVALID_PAYLOAD', { reason: 'Either email and code, or only token, is required' });
  };
}
