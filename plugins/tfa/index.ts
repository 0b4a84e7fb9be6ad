import plugin from 'fastify-plugin';
import { deriveKey } from '../keys.js';
import { createSecretBox } from './secret-box.js';
import { createTwoFactor, type TwoFactor } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    tfa: TwoFactor;
  }
}

/** `app.tfa`: two-factor authentication. */
export const tfaPlugin = plugin(
  async (app) => {
    const box = createSecretBox(deriveKey(app.config.SECRET, 'tfa-secret'));
    app.decorate('tfa', createTwoFactor({ box, clock: app.clock }));
  },
  { name: 'tfa', dependencies: ['config', 'clock'] },
);
