import { deleteExpiredEmailCodes } from '../../db/queries/step-up/email-codes.js';
import { definePlugin } from '../platform/plugin.js';
import { hour } from '../platform/scheduler.js';
import { type BrowserCookie, createBrowserCookie } from '../tokens/browser-cookie.js';
import { emailCodeLifetime } from '../tokens/email-codes.js';
import { createEmailLogin, type EmailLogin } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    emailLogin: EmailLogin;
    emailLoginBrowser: BrowserCookie;
  }
}

/** `app.emailLogin`: signs users in with a code or a link from an email. `app.emailLoginBrowser`: the cookie for this. */
export const emailLoginPlugin = definePlugin('email-login', (services) => {
  const { config, clock, maintenanceDb, every, ownCookies } = services;
  const emailLoginBrowser = createBrowserCookie('gatehouse_email_login', config.PUBLIC_URL, emailCodeLifetime);
  ownCookies.add(emailLoginBrowser.name);
  every(hour, () => deleteExpiredEmailCodes(maintenanceDb, clock()), 'expired requests for codes could not be deleted');
  return { emailLogin: createEmailLogin(services), emailLoginBrowser };
});
