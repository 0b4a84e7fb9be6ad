import type { App } from '../app.js';
import { assetRoutes } from './assets.js';
import { pageRoutes } from './pages.js';

/** The pages for people. They are no part of the API: they only use it. */
export async function accountRoutes(app: App): Promise<void> {
  pageRoutes(app);
  assetRoutes(app);
}
