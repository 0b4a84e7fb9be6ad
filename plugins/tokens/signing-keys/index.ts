import plugin from 'fastify-plugin';
import { createBackground } from '../../platform/background.js';
import { hour } from '../../platform/periodic.js';
import { createSigningKeys, type SigningKeys } from './service.js';
import { createKeyStore } from './store.js';

declare module 'fastify' {
  interface FastifyInstance {
    signingKeys: SigningKeys;
  }
}

/** Milliseconds. How long an instance may go on without knowing of a rotation. */
const reloadInterval = 5_000;

/**
 * `app.signingKeys`: the key pairs of access tokens, where ACCESS_TOKEN_ALGORITHM asks for such. Also without it: tokens of an
 * instance that has it, or had it, are verified, and their keys told.
 */
export const signingKeysPlugin = plugin(
  async (app) => {
    const { config, db, clock, activity, log } = app;
    const store = createKeyStore({
      config,
      activity,
      onUnreadable: (kid) => log.warn({ kid }, 'a key of access tokens was sealed with a SECRET that is not known'),
    });
    const keys = createSigningKeys({
      db,
      clock,
      store,
      algorithm: config.ACCESS_TOKEN_ALGORITHM,
      onMade: (key) => log.info(key, 'a key for access tokens was made'),
    });
    await keys.reload();
    await store.reseal(db);
    app.decorate('signingKeys', keys);

    const onFailure = (error: unknown) => log.warn(error, 'the keys of access tokens could not be read anew');
    const reloading = createBackground(keys.reload, reloadInterval, onFailure);
    app.addHook('onListen', async () => reloading.start());
    app.addHook('onClose', () => reloading.stop());
    app.every(hour, keys.tidy, 'keys of access tokens could not be cleared away');
  },
  { name: 'signing-keys', dependencies: ['config', 'database', 'clock', 'periodic', 'activity'] },
);
