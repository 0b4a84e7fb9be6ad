import plugin from 'fastify-plugin';
import { deleteExpiredEmailCodes } from '../../db/queries/step-up/email-codes.js';
import { createRequestMail } from '../mail/requested-mails.js';
import { hour } from '../platform/scheduler.js';
import { createEmailProofs } from '../step-up/email-proofs.js';
import { type BrowserCookie, createBrowserCookie } from '../tokens/browser-cookie.js';
import { emailCodeLifetime } from '../tokens/email-codes.js';
import { createEmailLogin, type EmailLogin } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    emailLogin: EmailLogin;
    emailLoginBrowser: BrowserCookie;
  }
}

/** `app.emailLogin`: signs users in with a code or a link from an email. `app.emailLoginBrowser`: the cookie for this. */
export const emailLoginPlugin = plugin(
  async (app) => {
    const { config, db, clock, emailCodes, mail, passwordChecks, secondFactor, rateLimits, activity } = app;
    const { sessions, stepUp, ownPassword } = app;
    const { PUBLIC_URL: publicUrl, REGISTRATION_ANSWER_TIME: responseStepMs } = config;
    const onLimitExceeded = () => app.log.info('a code to sign in was not sent: too many were requested');
    app.decorate(
      'emailLogin',
      createEmailLogin({
        db,
        clock,
        emailCodes,
        proofs: createEmailProofs({ db, clock, emailCodes }),
        requestMail: createRequestMail({
          isFamiliar: app.isFamiliarOrigin,
          rateLimits,
          responseStepMs,
          onLimitExceeded,
        }),
        mail,
        passwordChecks,
        secondFactor,
        rateLimits,
        activity,
        begin: sessions.begin,
        stepUp,
        ownPassword,
        page: `${publicUrl}/account/email-login`,
        base: app.basePath,
      }),
    );
    const cookie = createBrowserCookie('gatehouse_email_login', publicUrl, emailCodeLifetime);
    app.ownCookies.add(cookie.name);
    app.decorate('emailLoginBrowser', cookie);
    app.every(
      hour,
      () => deleteExpiredEmailCodes(app.maintenanceDb, clock()),
      'expired requests for codes could not be deleted',
    );
  },
  {
    name: 'email-login',
    dependencies: [
      'config',
      'database',
      'clock',
      'cookie',
      'scheduler',
      'tokens',
      'mail',
      'password-checks',
      'second-factor',
      'rate-limits',
      'activity',
      'sessions',
      'step-up',
    ],
  },
);
