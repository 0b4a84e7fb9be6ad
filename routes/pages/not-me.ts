import { Type } from '@sinclair/typebox';
import type { App } from '../app.js';

/** What the button on the page behind the link in a security notice does. Opening the page changes nothing. */
export function notMe(app: App): void {
  const body = Type.Object({ token: Type.String({ minLength: 1 }) }, { additionalProperties: false });
  app.post('/not-me', { schema: { hide: true, body } }, async (request, reply) => {
    request.requireOwnSite();
    await app.passwordReset.secureAccount(request.body.token, request.client);
    return reply.code(204).send();
  });
}
