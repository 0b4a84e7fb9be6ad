import plugin from 'fastify-plugin';
import { createPasswordReset, type PasswordReset } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    passwordReset: PasswordReset;
  }
}

/** `app.passwordReset`: lets users set a new password with a link from an email. */
export const passwordResetPlugin = plugin(
  async (app) => {
    const { db, clock, mail, linkTokens, passwords, passwordRules, passwordChecks, rateLimits, activity, config } = app;
    const reset = createPasswordReset({
      db,
      clock,
      mail,
      linkTokens,
      passwords,
      passwordRules,
      passwordChecks,
      rateLimits,
      activity,
      onTooMany: () => app.log.info('a link to reset a password was not sent: too many were requested'),
      defaultUrl: `${config.PUBLIC_URL}/account/reset-password`,
      allowList: config.PASSWORD_RESET_URL_ALLOW_LIST,
      answerAfter: config.REGISTRATION_ANSWER_TIME,
      lookback: config.PASSWORD_RESET_LOOKBACK,
    });
    app.decorate('passwordReset', reset);
  },
  {
    name: 'password-reset',
    dependencies: [
      'config',
      'database',
      'clock',
      'mail',
      'tokens',
      'passwords',
      'password-rules',
      'password-checks',
      'rate-limits',
      'activity',
    ],
  },
);
