import { definePlugin } from '../../platform/plugin.js';
import { hour } from '../../platform/scheduler.js';
import { createSigningKeys, type SigningKeys } from './service.js';

declare module '../../platform/plugin.js' {
  interface Services {
    signingKeys: SigningKeys;
  }
}

/** Milliseconds. The longest time until an instance notices a rotation. */
const reloadInterval = 5_000;

/**
 * `app.signingKeys`: the key pairs for access tokens, if ACCESS_TOKEN_ALGORITHM requires them, and for the OpenID Connect provider, once it
 * has been used. With HS256, existing key pairs still verify tokens and are published, because other instances may use them, or this one
 * may have used them before.
 */
export const signingKeysPlugin = definePlugin('tokens/signing-keys', (services, app) => {
  const { every } = services;
  const signingKeys = createSigningKeys(services);
  app.addHook('onReady', signingKeys.start);
  every(reloadInterval, signingKeys.reload, 'the signing keys could not be reloaded');
  every(hour, signingKeys.tidy, 'old signing keys could not be deleted');
  return { signingKeys };
});
