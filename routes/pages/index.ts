import type { App } from '../app.js';
import { assetRoutes } from './assets.js';
import { notMe } from './not-me.js';
import { pageRoutes } from './pages.js';
import { sendAgainRoutes } from './send-again.js';

/** The account pages. They use the API but are not part of it. */
export async function accountRoutes(app: App): Promise<void> {
  pageRoutes(app);
  sendAgainRoutes(app);
  notMe(app);
  assetRoutes(app);
}
