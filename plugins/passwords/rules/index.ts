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
export const passwordRulesPlugin = definePlugin('passwords/rules', (services, app) => {
  const { PASSWORD_BREACH_CHECK: source } = services.config;
  const onFailure = (err: unknown) => app.log.warn({ err }, 'a password was accepted without the breach check');
  const createEvaluator = (capacity: number, maxLength: number) => {
    const strength = createStrength(capacity);
    app.addHook('onClose', () => strength.close());
    return { strength, isBreached: source === 'off' ? null : createBreachCheck(source, onFailure), maxLength };
  };
  return { passwordRules: createPasswordRules(services, createEvaluator(64, 128), createEvaluator(16, 64)) };
});
