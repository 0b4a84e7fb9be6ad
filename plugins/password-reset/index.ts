import plugin from 'fastify-plugin';
import { createRequestMail } from '../mail/requested-mails.js';
import { createPasswordReset, type PasswordReset } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    passwordReset: PasswordReset;
  }
}

/** `app.passwordReset`: lets users set a new password with a link from an email. */
export const passwordResetPlugin = plugin(
  async (app) => {
    const { db, clock, mail, linkTokens, passwords, passwordRules, lockouts, rateLimits, activity, config } = app;
    const { signInMethods } = app;
    const reset = createPasswordReset({
      db,
      clock,
      mail,
      linkTokens,
      passwords,
      passwordRules,
      lockouts,
      requestMail: createRequestMail({
        isFamiliar: app.isFamiliarOrigin,
        rateLimits,
        responseStepMs: config.REGISTRATION_ANSWER_TIME,
        onLimitExceeded: () => app.log.info('a link to reset a password was not sent: too many were requested'),
      }),
      activity,
      defaultUrl: `${config.PUBLIC_URL}/account/reset-password`,
      allowList: config.PASSWORD_RESET_URL_ALLOW_LIST,
      lookback: config.PASSWORD_RESET_LOOKBACK,
      signInMethods,
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
      'sign-in-methods',
      'rate-limits',
      'activity',
    ],
  },
);
