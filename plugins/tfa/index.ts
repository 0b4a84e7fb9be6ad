import plugin from 'fastify-plugin';
import { readSettings } from '../../db/queries/settings/settings.js';
import { createTwoFactor, type TwoFactor } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    tfa: TwoFactor;
  }
}

/** `app.tfa`: lets users set up two-factor authentication, and turn it off. */
export const tfaPlugin = plugin(
  async (app) => {
    const { db, clock, ownPassword, stepUp, secondFactor, tfaSecrets: box, activity } = app;
    const projectName = async () => (await readSettings(db)).project_name;
    app.decorate('tfa', createTwoFactor({ db, box, clock, ownPassword, stepUp, secondFactor, activity, projectName }));
  },
  { name: 'tfa', dependencies: ['clock', 'database', 'step-up', 'second-factor', 'activity'] },
);
