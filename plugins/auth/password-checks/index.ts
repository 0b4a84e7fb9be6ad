import plugin from 'fastify-plugin';
import { hour } from '../../platform/scheduler.js';
import { createPasswordChecks, type PasswordChecks } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    passwordChecks: PasswordChecks;
  }
}

/** `app.passwordChecks`: checks the passwords of accounts, and slows down guessing. */
export const passwordChecksPlugin = plugin(
  async (app) => {
    const { config, db, clock, passwords, rateLimits, activity } = app;
    const checks = createPasswordChecks({
      db,
      clock,
      passwords,
      rateLimits,
      activity,
      queue: config.PASSWORD_HASH_QUEUE,
    });
    app.decorate('passwordChecks', checks);

    app.every(hour, () => checks.clear(), 'old login attempts could not be deleted');
  },
  {
    name: 'password-checks',
    dependencies: ['config', 'database', 'clock', 'scheduler', 'passwords', 'rate-limits', 'activity'],
  },
);
