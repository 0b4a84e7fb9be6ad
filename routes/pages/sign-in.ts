import { ApiError } from '../../schemas/errors.js';
import type { App } from '../app.js';

const visitorPages = ['login', 'forgot-password', 'register', 'verified', 'cancel-email-change', 'not-me'];

/** The pages for visitors. They are open to anyone, so an invalid session cookie does not keep users from signing in again. */
export function signInPages(app: App): void {
  const { pages, registration, registrationBrowser, invites, passwordReset, emailLogin, emailChanges } = app;
  for (const name of visitorPages) {
    app.get(`/${name}`, async (_request, reply) => reply.sendPage(pages.signIn(name)));
  }

  // The pages that links in emails open. Opening one changes nothing, because programs that scan emails do that as well.
  const inspections = {
    'verify-email': registration.inspect,
    'accept-invite': invites.inspect,
    'reset-password': passwordReset.inspect,
    'email-login': emailLogin.inspect,
    'confirm-email': emailChanges.inspect,
  };
  for (const [name, inspect] of Object.entries(inspections)) {
    app.get(`/${name}`, async (request, reply) => {
      const { token } = request.query as { token?: unknown };
      if (typeof token !== 'string') return reply.sendPage(pages.signIn(name));
      const link = await inspect(token, registrationBrowser.hashesIn(request)).catch((error: unknown) => ({
        reason: error instanceof ApiError ? error.code : 'SERVICE_UNAVAILABLE',
      }));
      return reply.sendPage(pages.signIn(name, link));
    });
  }
}
