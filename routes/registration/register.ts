import { errorResponses } from '../../schemas/errors.js';
import { RegisterBody } from '../../schemas/registration.js';
import { type App, noContent } from '../app.js';

/** Operation 24 (contract 2.15). */
export function register(app: App): void {
  app.post(
    '/register',
    {
      schema: {
        operationId: 'register',
        tags: ['Registration'],
        summary: 'Register as a new user',
        description:
          'Open to anyone while `public_registration` is on. The answer is the same, and takes the same time, whether or not there is a new user: it does not tell which addresses are known. A link to verify the address is sent, unless the settings ask for none. Five a minute are taken from one address.',
        body: RegisterBody,
        response: { 204: noContent('The request was taken.'), ...errorResponses('FORBIDDEN') },
      },
    },
    async (request, reply) => {
      const { email, password, first_name, last_name, verification_url: url } = request.body;
      const names = { firstName: first_name ?? null, lastName: last_name ?? null };
      await app.registration.register({ email, password, ...names, url }, request.client);
      return reply.code(204).send();
    },
  );
}
