import type { App } from '../app.js';

/** Ends the sessions of both cookies: that of these pages, and that of an application in `cookie` mode. Both belong to one person. */
export function signOut(app: App): void {
  app.post('/sign-out', async (request, reply) => {
    request.requireOwnSite();
    for (const mode of ['session', 'cookie'] as const) {
      const credential = reply.tokensInCookie(mode);
      if (credential) await app.sessions.logout(credential, request.client);
    }
    reply.clearReceivedCookies();
    return reply.code(204).send();
  });
}
