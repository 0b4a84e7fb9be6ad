import { RequestEmailLoginBody } from '../../schemas/email-login.js';
import { ApiError, errorResponses } from '../../schemas/errors.js';
import { type App, noContent } from '../app.js';

export function requestEmailLogin(app: App): void {
  app.post(
    '/email/request',
    {
      config: { access: 'anonymous', beforeTfa: true, recordedAs: ['email_login_request', 'users'] },
      schema: {
        operationId: 'requestEmailLogin',
        tags: ['Authentication'],
        summary: 'Request a login code',
        description:
          "Sends an email with a six-digit code and a link, if the address belongs to an active user who does not log in through a provider. The response is always the same, even if the address is unknown or too many emails were requested recently. The code and the link are valid for ten minutes. A new request from the same browser, or with the same `binding`, invalidates the code and the link from the previous one. Fails with `FORBIDDEN` if the setting `email_login` is turned off. With an empty body, the operation sends no login code. It sends the logged-in user a code for `POST /auth/reauthenticate`, even if the setting is turned off, but only if `methods` in the user's `REAUTHENTICATION_REQUIRED` errors contains `email`.",
        body: RequestEmailLoginBody,
        response: {
          204: {
            ...noContent('The request was accepted.'),
            headers: {
              'set-cookie': {
                type: 'string',
                description:
                  'The cookie that lets `POST /auth/email` recognize this browser. Not set if you send `binding`.',
              },
            },
          },
          ...errorResponses('FORBIDDEN'),
        },
      },
    },
    async (request, reply) => {
      const { email, redirect, return_to: returnTo, binding } = request.body;
      if (email === undefined) {
        const others = [redirect, returnTo, binding];
        const isForSession = request.principal !== null && others.every((value) => value === undefined);
        if (!isForSession) throw new ApiError('INVALID_PAYLOAD', { reason: 'email is required' });
        await app.emailLogin.requestConfirmation(request.currentUser);
        return reply.code(204).send();
      }
      if (binding !== undefined) {
        await app.emailLogin.request({ email, redirect, returnTo, binding: ['app', binding] }, request.client);
        return reply.code(204).send();
      }
      const { value, hash } = app.emailLoginBrowser.choose(request);
      await app.emailLogin.request({ email, redirect, returnTo, binding: ['browser', hash] }, request.client);
      app.emailLoginBrowser.set(reply, value);
      return reply.code(204).send();
    },
  );
}
