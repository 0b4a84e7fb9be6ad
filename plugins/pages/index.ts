import { readdirSync, readFileSync } from 'node:fs';
import { Liquid, type Template } from 'liquidjs';
import { readSettings } from '../../db/queries/settings/settings.js';
import { definePlugin } from '../platform/plugin.js';
import { loadAssets } from './assets.js';
import { createProjectReader } from './project.js';
import { createPages, type Pages } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    pages: Pages;
  }
}

/** `app.pages`: the pages for users, under `/account`. */
export const pagesPlugin = definePlugin('pages', (services, app) => {
  const { config, basePath, db, locales, log, listProviders, signInMethods } = services;
  const project = createProjectReader(
    () => readSettings(db),
    (error) => log.warn({ err: error }, 'a page was rendered without the current project settings'),
  );
  return {
    pages: createPages({
      locales,
      assets: loadAssets(),
      renderTemplate: loadTemplates(),
      project,
      offers: () => ({
        passwordLogin: !config.AUTH_DISABLE_DEFAULT,
        providers: app.hasRoute({ method: 'GET', url: '/auth' }),
        twoFactor: app.hasRoute({ method: 'POST', url: '/users/me/tfa/generate' }),
        passkeys: config.AUTH_PASSKEYS,
      }),
      providers: () => {
        if (!app.hasRoute({ method: 'GET', url: '/auth' })) return [];
        const inSession = new Set(listProviders({ sessionOnly: true }).map(({ name }) => name));
        const registering = new Set(
          config.PROVIDERS.filter((one) => one.ALLOW_PUBLIC_REGISTRATION).map(({ key }) => key),
        );
        return listProviders().map((provider) => ({
          ...provider,
          session: inSession.has(provider.name),
          registers: registering.has(provider.name),
          managed: signInMethods.isManaged({ provider: provider.name }),
        }));
      },
      passwordMinLength: config.PASSWORD_MIN_LENGTH,
      passkeyDomain: config.WEBAUTHN_RP_ID,
      base: basePath,
    }),
  };
});

const folder = new URL('../../pages/templates/', import.meta.url);
const extension = '.liquid';

/** Reads and parses all templates, and returns a function that renders one by name. All output is escaped. */
function loadTemplates(): (name: string, view: object) => Promise<string> {
  const sources = Object.fromEntries(
    readdirSync(folder)
      .filter((file) => file.endsWith(extension))
      .map((file) => [file.slice(0, -extension.length), readFileSync(new URL(file, folder), 'utf8')]),
  );
  const engine = new Liquid({
    templates: sources,
    cache: true,
    outputEscape: 'escape',
    strictFilters: true,
    strictVariables: true,
    lenientIf: true,
    ownPropertyOnly: true,
  });
  const parsed = new Map<string, Template[]>(
    Object.entries(sources).map(([name, source]) => [name, engine.parse(source, name)]),
  );
  return async (name, view) => {
    const template = parsed.get(name);
    if (!template) throw new Error(`The template ${name} does not exist.`);
    return engine.render(template, view);
  };
}
