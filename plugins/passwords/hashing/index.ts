import plugin from 'fastify-plugin';
import { createPasswords, type Passwords } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    passwords: Passwords;
  }
}

/** `app.passwords`: hashes and checks passwords. */
export const passwordsPlugin = plugin(
  async (app) => {
    const { config } = app;
    const passwords = await createPasswords({
      memory: config.PASSWORD_HASH_MEMORY,
      time: config.PASSWORD_HASH_TIME,
      parallelism: config.PASSWORD_HASH_PARALLELISM,
      concurrency: config.PASSWORD_HASH_CONCURRENCY,
      queue: config.PASSWORD_HASH_QUEUE,
      maxWaitMs: config.PASSWORD_HASH_MAX_WAIT,
    });
    app.decorate('passwords', passwords);
    app.addHook('onClose', () => passwords.close());
  },
  { name: 'passwords', dependencies: ['config'] },
);
