import { setImmediate } from 'node:timers/promises';
import plugin from 'fastify-plugin';
import { deleteExpiredRegistrations } from '../../db/queries/registration/registrations.js';
import { transact } from '../../db/statements.js';
import { hour } from '../platform/scheduler.js';
import { type BrowserCookie, createBrowserCookie } from '../tokens/browser-cookie.js';
import { createRegistration, type Registration } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    registration: Registration;
    registrationBrowser: BrowserCookie;
  }
}

/** `app.registration`: registers new users and verifies their addresses. `app.registrationBrowser`: the cookie of their browser. */
export const registrationPlugin = plugin(
  async (app) => {
    const { db, clock, mail, linkTokens, passwords, passwordRules, lockouts, rateLimits, activity, config } = app;
    const registration = createRegistration({
      db,
      clock,
      mail,
      linkTokens,
      passwords,
      passwordRules,
      lockouts,
      rateLimits,
      activity,
      allowList: config.USER_REGISTER_URL_ALLOW_LIST,
      linkLifetime: config.EMAIL_VERIFICATION_TOKEN_TTL,
      answerAfter: config.REGISTRATION_ANSWER_TIME,
      onRefusal: (reason) => app.log.info({ reason }, 'a registration had no effect'),
    });
    app.decorate('registration', registration);
    const cookie = createBrowserCookie(
      'gatehouse_registration',
      config.PUBLIC_URL,
      config.EMAIL_VERIFICATION_TOKEN_TTL,
    );
    app.ownCookies.add(cookie.name);
    app.decorate('registrationBrowser', cookie);
    const clear = async () => {
      for (let isPartial = true; isPartial; await setImmediate()) {
        isPartial = await transact(app.maintenanceDb, async (tx) => {
          const { deletedUsers, isPartial } = await deleteExpiredRegistrations(tx, clock());
          const events = deletedUsers.map((item) => ({ action: 'delete', collection: 'users', item }) as const);
          await activity.record(tx, null, events);
          return isPartial;
        });
      }
    };
    app.every(hour, clear, 'expired registrations could not be deleted');
  },
  {
    name: 'registration',
    dependencies: [
      'config',
      'clock',
      'cookie',
      'scheduler',
      'database',
      'mail',
      'tokens',
      'passwords',
      'password-rules',
      'password-checks',
      'rate-limits',
      'activity',
    ],
  },
);
