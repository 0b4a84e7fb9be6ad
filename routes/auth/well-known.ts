import type { App } from '../app.js';
import { readKeySet } from './read-key-set.js';
import { readRelatedOrigins } from './read-related-origins.js';

export async function wellKnownRoutes(app: App): Promise<void> {
  readKeySet(app);
  if (app.config.AUTH_PASSKEYS) readRelatedOrigins(app);
}
