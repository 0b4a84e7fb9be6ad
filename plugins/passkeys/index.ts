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
    const { config, db, clock, webauthn, stepUp, activity } = app;
    const keys = new Set(config.PROVIDERS.map(({ key }) => key));
    app.decorate(
      'passkeys',
      createPasskeys({
        ...{ db, clock, webauthn, stepUp, activity },
        projectName: async () => (await readSettings(db)).project_name,
        isConfigured: (key) => keys.has(key),
        hasPasswordLogin: !config.AUTH_DISABLE_DEFAULT,
      }),
    );
  },
  { name: 'passkeys', dependencies: ['config', 'database', 'clock', 'webauthn', 'step-up', 'activity'] },
);
