import { createSecretBox, type SecretBox } from '../platform/encryption.js';
import { keysFor } from '../platform/key-derivation.js';
import { definePlugin } from '../platform/plugin.js';
import { createSecondFactor, type SecondFactor } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    secondFactor: SecondFactor;
    tfaSecrets: SecretBox;
  }
}

/**
 * `app.secondFactor`: verifies the second factor, for every login method. `app.tfaSecrets`: encrypts the secrets that users share
 * with their authenticator apps.
 */
export const secondFactorPlugin = definePlugin('second-factor', (services) => {
  const tfaSecrets = createSecretBox(keysFor(services.config, 'tfa-secret'));
  return { tfaSecrets, secondFactor: createSecondFactor(services, tfaSecrets) };
});
