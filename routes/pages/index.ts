import type { App } from '../app.js';
import { assetRoutes } from './assets.js';
import { linkActions } from './link-actions.js';
import { pageRoutes } from './pages.js';
import { signOut } from './sign-out.js';

/** The account pages. They use the API but are not part of it. */
export async function accountRoutes(app: App): Promise<void> {
  pageRoutes(app);
  linkActions(app);
  signOut(app);
  assetRoutes(app);
}
