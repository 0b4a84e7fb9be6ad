import { Type } from '@sinclair/typebox';
import type { App } from '../app.js';

/**
 * What the buttons do on the pages that links in emails open. Sending a link again sends it to the stored address of the user, so it
 * does not matter who still has the old one.
 */
export function linkActions(app: App): void {
  const { registration, invites, passwordReset } = app;
  const actions = {
    'verify-email/send-again': registration.sendAgain,
    'accept-invite/send-again': invites.sendAgain,
    'reset-password/send-again': passwordReset.sendAgain,
    'not-me': passwordReset.secureAccount,
  };
  const body = Type.Object({ token: Type.String({ minLength: 1 }) }, { additionalProperties: false });
  for (const [path, act] of Object.entries(actions)) {
    app.post(`/${path}`, { schema: { body } }, async (request, reply) => {
      request.requireOwnSite();
      await act(request.body.token, request.client);
      return reply.code(204).send();
    });
  }
}
