import { errorResponses } from '../../schemas/errors.js';
import { ReauthenticateBody } from '../../schemas/reauthentication.js';
import { type App, noContent } from '../app.js';

/** Makes a session fresh, for operations that return REAUTHENTICATION_REQUIRED. */
export function reauthenticate(app: App): void {
  app.post(
    '/reauthenticate',
    {
      config: {
        access: 'authenticated',
        credentials: ['session'],
        beforeTfa: true,
        recordedAs: ['reauthenticate', 'users'],
      },
      schema: {
        operationId: 'reauthenticate',
        tags: ['Authentication'],
        summary: 'Confirm your identity',
        description:
          'Makes your session fresh for `REAUTHENTICATION_PERIOD`. If an operation fails with `REAUTHENTICATION_REQUIRED`, call this operation, then repeat the failed one. A wrong password, code, or passkey counts as a failed login attempt. If `methods` in the error contains `passkey`, request options with `POST /auth/passkey/options`, and send the `credential` that the browser returns for them. If it contains `email`, request a code with `POST /auth/email/request` and an empty body. If `passkey` is the only method, your passkey is a required second factor: it must verify you, and it also lifts the restriction of a session with `enforce_tfa`. If `methods` contains only `provider`, log in through the provider again. The new session is fresh.',
        body: ReauthenticateBody,
        response: {
          204: noContent('The session is fresh.'),
          ...errorResponses('INVALID_OTP'),
        },
      },
    },
    async (request, reply) => {
      await app.reauthenticate(request.currentUser, request.body);
      return reply.code(204).send();
    },
  );
}
