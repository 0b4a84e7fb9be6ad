import { errorResponses } from '../../schemas/errors.js';
import { RegisterBody } from '../../schemas/registration.js';
import { type App, noContent } from '../app.js';

export function register(app: App): void {
  app.post(
    '/register',
    {
      config: {
        access: 'anonymous',
        rateClass: 'registration',
        recordedAs: ['register', 'users'],
        acceptsUnknownKeys: true,
      },
      schema: {
        operationId: 'register',
        tags: ['Registration'],
        summary: 'Register a new user',
        description:
          'Creates a user. Open to everyone while the setting `public_registration` is turned on. The response and the response time are always the same, so they do not reveal whether the address is already in use. If the settings require verification, the service sends a verification link to the address. Until the address is verified, repeated registrations do not affect each other: each link activates the account with the password and names from the registration that it was sent for. If the address belongs to an active account, its owner is notified by email. To find out whether a password is acceptable, call `POST /auth/password/check` first. Each client IP address can send five registrations per minute.',
        body: RegisterBody,
        response: {
          204: {
            ...noContent('The request was accepted.'),
            headers: {
              'set-cookie': {
                type: 'string',
                description:
                  'The registration cookie, which lets `POST /users/register/verify-email` recognize this browser.',
              },
            },
          },
          ...errorResponses(),
        },
      },
    },
    async (request, reply) => {
      const { email, password, first_name, last_name, verification_url: url } = request.body;
      const names = { firstName: first_name ?? null, lastName: last_name ?? null };
      const { value, hash: browserHash } = app.registrationBrowser.choose(request);
      await app.registration.register({ email, password, ...names, url, browserHash }, request.client);
      app.registrationBrowser.set(reply, value);
      return reply.code(204).send();
    },
  );
}
