import type { App } from '../app.js';

/** The well-known URL by which password managers find the page for changing the password. */
export function changePassword(app: App): void {
  const page = `${app.basePath}/account/security?change=password`;
  app.get('/.well-known/change-password', async (_request, reply) =>
    reply.header('cache-control', 'no-store').redirect(page),
  );
}
