import type { App } from '../app.js';
import { readKeySet } from './read-key-set.js';

export async function wellKnownRoutes(app: App): Promise<void> {
  readKeySet(app);
}
