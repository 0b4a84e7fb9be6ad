import type { App } from '../app.js';

/** Whoever comes to the front door is a person, and led to the pages for people. */
export function home(app: App): void {
  app.get('/', { schema: { hide: true } }, async (_request, reply) =>
    reply.header('cache-control', 'no-store').redirect('account'),
  );
}
