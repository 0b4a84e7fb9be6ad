import plugin from 'fastify-plugin';
import { readSettings } from '../../db/queries/settings/settings.js';
import { createPasskeys, type Passkeys } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    passkeys: Passkeys;
  }
}

/** `app.passkeys`: lets users manage their passkeys. */
export const passkeysPlugin = plugin(
  async (app) => {
    const { db, clock, webauthn, stepUp, signInMethods, activity } = app;
    app.decorate(
      'passkeys',
      createPasskeys({
        ...{ db, clock, webauthn, stepUp, signInMethods, activity },
        projectName: async () => (await readSettings(db)).project_name,
      }),
    );
  },
  { name: 'passkeys', dependencies: ['database', 'clock', 'webauthn', 'step-up', 'sign-in-methods', 'activity'] },
);
