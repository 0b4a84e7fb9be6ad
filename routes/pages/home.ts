import type { App } from '../app.js';

/** Redirects people who open the root URL to the account pages. */
export function home(app: App): void {
  const account = `${app.basePath}/account`;
  app.get('/', async (_request, reply) => reply.header('cache-control', 'no-store').redirect(account));
}
