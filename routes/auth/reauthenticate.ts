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
        requiresSession: true,
        beforeTfa: true,
        recordedAs: ['reauthenticate', 'users'],
      },
      schema: {
        operationId: 'reauthenticate',
        tags: ['Authentication'],
        summary: 'Prove your identity again',
        description:
          'Makes your session fresh for REAUTHENTICATION_PERIOD. Call it when an operation returns `REAUTHENTICATION_REQUIRED`, then repeat that operation. Wrong values count as failed login attempts. If `methods` lists only `provider`, sign in through the provider again instead: the new session is fresh.',
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
