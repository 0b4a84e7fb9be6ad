import plugin from 'fastify-plugin';
import { readSettings } from '../../db/queries/settings/settings.js';
import { loadAssets } from './assets.js';
import { createProjectReader } from './project.js';
import { createPages, type Pages } from './service.js';
import { loadTemplates } from './templates.js';

declare module 'fastify' {
  interface FastifyInstance {
    pages: Pages;
  }
}

/** `app.pages`: the pages for users, under `/account`. */
export const pagesPlugin = plugin(
  async (app) => {
    const { config, db, locales, log } = app;
    const project = createProjectReader(
      () => readSettings(db),
      (error) => log.warn({ err: error }, 'a page was rendered without the current project settings'),
    );
    app.decorate(
      'pages',
      createPages({
        locales,
        assets: loadAssets(),
        renderTemplate: loadTemplates(),
        project,
        offers: () => ({
          passwordLogin: !config.AUTH_DISABLE_DEFAULT,
          providers: app.hasRoute({ method: 'GET', url: '/auth' }),
          twoFactor: app.hasRoute({ method: 'POST', url: '/users/me/tfa/generate' }),
        }),
        base: new URL(config.PUBLIC_URL).pathname.replace(/\/+$/, ''),
      }),
    );
  },
  { name: 'pages', dependencies: ['config', 'database', 'locales'] },
);
