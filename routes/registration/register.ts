import { errorResponses } from '../../schemas/errors.js';
import { RegisterBody } from '../../schemas/registration.js';
import { type App, noContent } from '../app.js';

export function register(app: App): void {
  app.post(
    '/register',
    {
      config: { access: 'anonymous', recordedAs: ['register', 'users'], acceptsUnknownKeys: true },
      schema: {
        operationId: 'register',
        tags: ['Registration'],
        summary: 'Register a new user',
        description:
          'Open to everyone while the setting `public_registration` is on. The response is the same and takes the same time, whether or not a user is created, so it does not reveal which addresses are known. If the settings require verification, the service sends a link to verify the address. Until the address is verified, each registration of it is independent: a link activates the password and names of the registration that it was sent for. If the address already has an active account, its user gets an email that says so. To find out whether the password is acceptable, call `POST /auth/password/check` first. A client address can register five times per minute.',
        body: RegisterBody,
        response: {
          204: {
            ...noContent('The request was accepted.'),
            headers: {
              'set-cookie': {
                type: 'string',
                description: 'A cookie by which `POST /users/register/verify-email` recognizes this browser.',
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
