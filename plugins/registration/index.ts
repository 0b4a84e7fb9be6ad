import plugin from 'fastify-plugin';
import { createRegistration, type Registration } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    registration: Registration;
  }
}

/** `app.registration`: people who sign up by themselves. */
export const registrationPlugin = plugin(
  async (app) => {
    const { db, mail, linkTokens, passwords, passwordRules, rateLimits, activity, config } = app;
    const registration = createRegistration({
      db,
      mail,
      linkTokens,
      passwords,
      passwordRules,
      rateLimits,
      activity,
      defaultUrl: `${config.PUBLIC_URL}/users/register/verify-email`,
      allowList: config.USER_REGISTER_URL_ALLOW_LIST,
      answerAfter: config.REGISTRATION_ANSWER_TIME,
      onRefusal: (reason) => app.log.info({ reason }, 'a registration came to nothing'),
    });
    app.decorate('registration', registration);
  },
  {
    name: 'registration',
    dependencies: ['config', 'database', 'mail', 'tokens', 'passwords', 'password-rules', 'rate-limits', 'activity'],
  },
);
