import plugin from 'fastify-plugin';
import { createSettings, type ProjectSettings } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    settings: ProjectSettings;
  }
}

/** `app.settings`: the settings of the project. */
export const settingsPlugin = plugin(
  async (app) => {
    app.decorate('settings', createSettings({ db: app.db, activity: app.activity, stepUp: app.stepUp }));
  },
  { name: 'settings', dependencies: ['database', 'activity', 'step-up'] },
);
