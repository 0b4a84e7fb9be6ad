import plugin from 'fastify-plugin';
import { hour } from '../../platform/scheduler.js';
import { createLockouts, type Lockouts } from './lockouts.js';
import { createPasswordChecks, type PasswordChecks } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    passwordChecks: PasswordChecks;
    lockouts: Lockouts;
  }
}

/** `app.passwordChecks`: checks the passwords of accounts. `app.lockouts`: slows down guessing. */
export const passwordChecksPlugin = plugin(
  async (app) => {
    const { config, db, clock, passwords, rateLimits, activity } = app;
    const lockouts = createLockouts({ db, clock });
    const { PASSWORD_HASH_QUEUE: queue, PASSWORD_HASH_MAX_WAIT: maxWaitMs } = config;
    app.decorate('lockouts', lockouts);
    app.decorate(
      'passwordChecks',
      createPasswordChecks({ db, lockouts, passwords, rateLimits, activity, queue, maxWaitMs }),
    );

    app.every(hour, () => lockouts.deleteExpired(), 'old login attempts could not be deleted');
  },
  {
    name: 'password-checks',
    dependencies: ['config', 'database', 'clock', 'scheduler', 'passwords', 'rate-limits', 'activity'],
  },
);
