import plugin from 'fastify-plugin';
import { createSecretBox, type SecretBox } from '../platform/encryption.js';
import { keysFor } from '../platform/key-derivation.js';
import { createSecondFactor, type SecondFactor } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    secondFactor: SecondFactor;
    tfaSecrets: SecretBox;
  }
}

/**
 * `app.secondFactor`: verifies the second factor, for every login method. `app.tfaSecrets`: encrypts the secrets that users share
 * with their authenticator apps.
 */
export const secondFactorPlugin = plugin(
  async (app) => {
    const { config, db, clock, activity } = app;
    const box = createSecretBox(keysFor(config, 'tfa-secret'));
    app.decorate('tfaSecrets', box);
    app.decorate('secondFactor', createSecondFactor({ db, box, clock, activity }));
  },
  { name: 'second-factor', dependencies: ['config', 'clock', 'database', 'activity'] },
);
