import { setImmediate } from 'node:timers/promises';
import { deleteExpiredRegistrations } from '../../db/queries/registration/registrations.js';
import { transact } from '../../db/statements.js';
import { definePlugin } from '../platform/plugin.js';
import { hour } from '../platform/scheduler.js';
import { type BrowserCookie, createBrowserCookie } from '../tokens/browser-cookie.js';
import { createRegistration, type Registration } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    registration: Registration;
    registrationBrowser: BrowserCookie;
  }
}

/** `app.registration`: registers new users and verifies their addresses. `app.registrationBrowser`: the cookie of their browser. */
export const registrationPlugin = definePlugin('registration', (services) => {
  const { config, clock, maintenanceDb, activity, every, ownCookies } = services;
  const lifetime = config.EMAIL_VERIFICATION_TOKEN_TTL;
  const registrationBrowser = createBrowserCookie('gatehouse_registration', config.PUBLIC_URL, lifetime);
  ownCookies.add(registrationBrowser.name);
  const clear = async () => {
    for (let isPartial = true; isPartial; await setImmediate()) {
      isPartial = await transact(maintenanceDb, async (tx) => {
        const { deletedUsers, isPartial } = await deleteExpiredRegistrations(tx, clock());
        const events = deletedUsers.map((item) => ({ action: 'delete', collection: 'users', item }) as const);
        await activity.record(tx, null, events);
        return isPartial;
      });
    }
  };
  every(hour, clear, 'expired registrations could not be deleted');
  return { registration: createRegistration(services), registrationBrowser };
});
