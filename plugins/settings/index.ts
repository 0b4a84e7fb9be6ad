import { definePlugin } from '../platform/plugin.js';
import { createSettings, type ProjectSettings } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    settings: ProjectSettings;
  }
}

/** `app.settings`: the settings of the project. */
export const settingsPlugin = definePlugin('settings', (services) => ({ settings: createSettings(services) }));
