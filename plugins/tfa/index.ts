import plugin from 'fastify-plugin';
import { readSettings } from '../../db/queries/settings.js';
import { keysFor } from '../keys.js';
import { createSecretBox, type SecretBox } from '../secret-box.js';
import { createSecondFactor, type SecondFactor } from './second-factor.js';
import { createTwoFactor, type TwoFactor } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    tfa: TwoFactor;
    secondFactor: SecondFactor;
    tfaSecrets: SecretBox;
  }
}

/**
 * `app.tfa`: two-factor authentication. `app.secondFactor`: what every way of logging in asks for besides.
 * `app.tfaSecrets`: how the secrets are kept.
 */
export const tfaPlugin = plugin(
  async (app) => {
    const { db, clock, passwordChecks, config, activity } = app;
    const box = createSecretBox(keysFor(config, 'tfa-secret'));
    const secondFactor = createSecondFactor({ db, box, clock, activity });
    const projectName = async () => (await readSettings(db)).project_name;
    app.decorate('tfaSecrets', box);
    app.decorate('secondFactor', secondFactor);
    app.decorate('tfa', createTwoFactor({ db, box, clock, passwordChecks, secondFactor, activity, projectName }));
  },
  { name: 'tfa', dependencies: ['config', 'clock', 'database', 'password-checks', 'activity'] },
);
