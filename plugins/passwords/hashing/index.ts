import { definePlugin } from '../../platform/plugin.js';
import { createPasswords, type Passwords } from './service.js';

declare module '../../platform/plugin.js' {
  interface Services {
    passwords: Passwords;
  }
}

/** `app.passwords`: hashes and checks passwords. */
export const passwordsPlugin = definePlugin('passwords/hashing', async ({ config }, app) => {
  const passwords = await createPasswords({
    memory: config.PASSWORD_HASH_MEMORY,
    time: config.PASSWORD_HASH_TIME,
    parallelism: config.PASSWORD_HASH_PARALLELISM,
    concurrency: config.PASSWORD_HASH_CONCURRENCY,
    queue: config.PASSWORD_HASH_QUEUE,
    maxWaitMs: config.PASSWORD_HASH_MAX_WAIT,
  });
  app.addHook('onClose', () => passwords.close());
  return { passwords };
});
