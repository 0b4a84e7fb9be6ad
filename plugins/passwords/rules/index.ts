import { definePlugin } from '../../platform/plugin.js';
import { createBreachCheck } from './breaches.js';
import { createPasswordRules, type PasswordRules } from './service.js';
import { createStrength } from './strength.js';

declare module '../../platform/plugin.js' {
  interface Services {
    passwordRules: PasswordRules;
  }
}

/** `app.passwordRules`: the rules for new passwords. */
export const passwordRulesPlugin = definePlugin('passwords/rules', ({ db, config }, app) => {
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
  return { passwordRules: rules };
});
