import plugin from 'fastify-plugin';
import { createBreachCheck } from './breaches.js';
import { createPasswordRules, type PasswordRules } from './service.js';
import { createStrength } from './strength.js';

declare module 'fastify' {
  interface FastifyInstance {
    passwordRules: PasswordRules;
  }
}

/** `app.passwordRules`: the rules for new passwords. */
export const passwordRulesPlugin = plugin(
  async (app) => {
    const { db, config } = app;
    const { PASSWORD_MIN_LENGTH: minLength, PASSWORD_REJECT_COMMON: rejectCommon } = config;
    const strength = createStrength();
    app.addHook('onClose', () => strength.close());
    const onFailure = (err: unknown) => app.log.warn({ err }, 'a password was accepted without the breach check');
    const isBreached =
      config.PASSWORD_BREACH_CHECK === 'off' ? null : createBreachCheck(config.PASSWORD_BREACH_CHECK, onFailure);
    const rules = createPasswordRules({ db, minLength, rejectCommon, strength, isBreached });
    app.addHook('onListen', async () => {
      const { createdAdministrator: made } = app;
      if (!made || config.ADMIN_PASSWORD === undefined) return;
      const reasons = await rules.reasonsAgainst({ password: config.ADMIN_PASSWORD, ownTexts: [made.email] });
      if (reasons.length > 0)
        app.log.warn({ reasons }, 'ADMIN_PASSWORD is weak: change the password of the administrator');
    });
    app.decorate('passwordRules', rules);
  },
  { name: 'password-rules', dependencies: ['config', 'database'] },
);
