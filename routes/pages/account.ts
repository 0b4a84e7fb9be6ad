import type { App } from '../app.js';

/** The account page. Each of its sections has its own URL. */
export function accountPage(app: App): void {
  const { account, accountViews } = app.pages;
  for (const view of [undefined, ...accountViews]) {
    app.get(`/${view ?? ''}`, async (_request, reply) => reply.sendPage(account(view)));
  }
}
