import type { App } from '../app.js';
import { readSettings } from './read-settings.js';
import { updateSettings } from './update-settings.js';

export async function settingsRoutes(app: App): Promise<void> {
  readSettings(app);
  updateSettings(app);
}
