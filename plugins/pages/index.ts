import type { FastifyReply, FastifyRequest } from 'fastify';
import { readSettings } from '../../db/queries/settings/settings.js';
import { definePlugin } from '../platform/plugin.js';
import { accountPage, accountViews } from './account.js';
import { type Assets, loadAssets } from './assets.js';
import { authorizePages } from './authorize.js';
import { consolePage } from './console.js';
import { createProjectReader } from './project.js';
import { appearanceOf } from './providers.js';
import { createPageRenderer, type Page } from './service.js';
import { errorPage, signInPage } from './sign-in.js';
import { loadTemplates } from './templates.js';
import { loadTexts } from './texts.js';
import { createVisitReader, languageCookie } from './visit.js';

declare module '../platform/plugin.js' {
  interface Services {
    pages: {
      signIn: typeof signInPage;
      error: typeof errorPage;
      account: typeof accountPage;
      accountViews: typeof accountViews;
      authorize: typeof authorizePages;
      console: typeof consolePage;
      asset: Assets;
    };
  }
}

declare module 'fastify' {
  interface FastifyReply {
    /** Sends a page for people. If it requires a session and the browser has none, redirects to the sign-in page. */
    sendPage(page: Page): Promise<FastifyReply>;
  }
}

/** Seconds. */
const yearSeconds = 365 * 24 * 60 * 60;

/** `app.pages`: the pages for users, under `/account` and `/console`. `reply.sendPage` sends one. */
export const pagesPlugin = definePlugin('pages', (services, app) => {
  const { config, basePath, db, locales, log, listProviders, signInMethods } = services;
  const project = createProjectReader(
    () => readSettings(db),
    (error) => log.warn({ err: error }, 'a page was rendered without the current project settings'),
  );
  const assets = loadAssets();
  const textsOf = loadTexts(locales.all.map(({ tag }) => tag));
  const { render, loginUrl } = createPageRenderer({
    locales,
    textsOf,
    assets,
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
        ...appearanceOf(provider),
        session: inSession.has(provider.name),
        registers: registering.has(provider.name),
        managed: signInMethods.isManaged({ provider: provider.name }),
      }));
    },
    passwordMinLength: config.PASSWORD_MIN_LENGTH,
    passkeyDomain: config.WEBAUTHN_RP_ID,
    base: basePath,
    returnOrigins: config.ACCOUNT_RETURN_ORIGINS,
  });

  const visitOf = createVisitReader(config);
  const cookie = {
    path: basePath === '' ? '/' : basePath,
    httpOnly: true,
    secure: config.PUBLIC_URL.startsWith('https:'),
    sameSite: 'lax',
    maxAge: yearSeconds,
  } as const;
  const send = async (request: FastifyRequest, reply: FastifyReply, page: Page) => {
    const visit = visitOf(request);
    if (page.returnTo !== undefined && visit.sessionModes.length === 0)
      return reply.header('cache-control', 'no-store').redirect(loginUrl(visit.query, page.returnTo));
    const { html, headers, chosen } = await render(page, visit);
    if (chosen !== undefined) reply.setCookie(languageCookie, chosen, cookie);
    return reply.headers(headers).send(html);
  };
  app.decorateReply('sendPage', function (page) {
    return send(this.request, this, page);
  });
  return {
    pages: {
      signIn: signInPage,
      error: errorPage,
      account: accountPage,
      accountViews,
      authorize: authorizePages,
      console: consolePage,
      asset: assets,
    },
  };
});
