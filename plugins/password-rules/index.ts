import plugin from 'fastify-plugin';
import { createPasswordRules, type PasswordRules } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    passwordRules: PasswordRules;
  }
}

/** `app.passwordRules`: what a new password must be like. */
export const passwordRulesPlugin = plugin(
  async (app) => {
    const { db, config } = app;
    const { PASSWORD_MIN_LENGTH: minLength, PASSWORD_REJECT_COMMON: rejectCommon } = config;
    app.decorate('passwordRules', createPasswordRules({ db, minLength, rejectCommon }));
  },
  { name: 'password-rules', dependencies: ['config', 'database'] },
);
