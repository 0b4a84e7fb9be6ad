import type { FastifyInstance } from 'fastify';
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
    const onFailure = (err: unknown) => app.log.warn({ err }, 'a password was accepted without the breach check');
    const createEvaluator = (capacity: number, maxLength: number) => {
      const strength = createStrength(capacity);
      app.addHook('onClose', () => strength.close());
      const { PASSWORD_BREACH_CHECK: source } = config;
      return { strength, isBreached: source === 'off' ? null : createBreachCheck(source, onFailure), maxLength };
    };
    const rules = createPasswordRules({
      db,
      minLength,
      rejectCommon,
      setting: createEvaluator(64, 128),
      checking: createEvaluator(16, 64),
    });
    // Not awaited: `onListen` hooks run one after another, and the check may take seconds.
    app.addHook('onListen', async () => void warnAboutWeakPassword(app, rules));
    app.decorate('passwordRules', rules);
  },
  { name: 'password-rules', dependencies: ['config', 'database'] },
);

/** Warns the operator if the administrator was created with a weak password. */
async function warnAboutWeakPassword({ createdAdministrator, config, log }: FastifyInstance, rules: PasswordRules) {
  if (!createdAdministrator || config.ADMIN_PASSWORD === undefined) return;
  try {
    const password = { password: config.ADMIN_PASSWORD, ownTexts: [createdAdministrator.email] };
    const reasons = await rules.reasonsAgainst(password);
    if (reasons.length > 0) log.warn({ reasons }, 'ADMIN_PASSWORD is weak. Change the password of the administrator');
  } catch (err) {
    log.warn({ err }, 'ADMIN_PASSWORD could not be checked');
  }
}
