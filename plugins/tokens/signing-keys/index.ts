import plugin from 'fastify-plugin';
import { hour } from '../../platform/scheduler.js';
import { createSigningKeys, type SigningKeys } from './service.js';
import { createKeyStore } from './store.js';

declare module 'fastify' {
  interface FastifyInstance {
    signingKeys: SigningKeys;
  }
}

/** Milliseconds. The longest time until an instance notices a rotation. */
const reloadInterval = 5_000;

/**
 * `app.signingKeys`: the key pairs for access tokens, if ACCESS_TOKEN_ALGORITHM requires them. With HS256, existing key pairs still
 * verify tokens and are published, because other instances may use them, or this one may have used them before.
 */
export const signingKeysPlugin = plugin(
  async (app) => {
    const { config, db, clock, activity, log } = app;
    const store = createKeyStore({
      config,
      activity,
      onUnreadable: (kid) => log.warn({ kid }, 'an access token key was encrypted with an unknown SECRET'),
    });
    const keys = createSigningKeys({
      db,
      clock,
      store,
      algorithm: config.ACCESS_TOKEN_ALGORITHM,
      onCreated: (key) => log.info(key, 'an access token key was created'),
    });
    await keys.reload();
    await store.reseal(db);
    app.decorate('signingKeys', keys);

    app.every(reloadInterval, keys.reload, 'the access token keys could not be reloaded');
    app.every(hour, keys.tidy, 'old access token keys could not be deleted');
  },
  { name: 'signing-keys', dependencies: ['config', 'database', 'clock', 'scheduler', 'activity'] },
);
