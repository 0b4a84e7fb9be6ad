import { Type } from '@sinclair/typebox';
import type { App } from '../app.js';

/**
 * Sends a new email for a link that was used or has expired. The email goes to the stored address of the user, so it does not
 * matter who still has the link.
 */
export function sendAgainRoutes(app: App): void {
  const services = {
    'verify-email': app.registration,
    'accept-invite': app.invites,
    'reset-password': app.passwordReset,
  };
  const body = Type.Object({ token: Type.String({ minLength: 1 }) }, { additionalProperties: false });
  for (const [page, service] of Object.entries(services)) {
    app.post(`/${page}/send-again`, { schema: { hide: true, body } }, async (request, reply) => {
      request.requireOwnSite();
      await service.sendAgain(request.body.token, request.client);
      return reply.code(204).send();
    });
  }
}
