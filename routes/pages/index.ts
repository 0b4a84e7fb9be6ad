import type { App } from '../app.js';
import { assetRoutes } from './assets.js';
import { authorize } from './authorize.js';
import { changePassword } from './change-password.js';
import { consoleScreens } from './console.js';
import { device } from './device.js';
import { errorPage } from './error-page.js';
import { home } from './home.js';
import { linkActions } from './link-actions.js';
import { pagesByPath } from './pages.js';
import { signOut } from './sign-out.js';

/** The pages for users. They use the API but are not part of it, and authenticate the user themselves. */
export async function pagesRoutes(app: App): Promise<void> {
  app.setProtocol({ isApi: false, config: { access: 'open' } });
  home(app);
  changePassword(app);
  await app.register(accountRoutes, { prefix: '/account' });
  await app.register(consoleRoutes, { prefix: '/console' });
}

async function accountRoutes(app: App): Promise<void> {
  errorPage(app);
  for (const [path, page] of Object.entries(pagesByPath(app))) {
    app.get(`/${path}`, async (request, reply) =>
      reply.sendPage(typeof page === 'function' ? await page(request) : page),
    );
  }
  authorize(app);
  device(app);
  linkActions(app);
  signOut(app);
  assetRoutes(app);
}

async function consoleRoutes(app: App): Promise<void> {
  errorPage(app);
  consoleScreens(app);
}
