import plugin from 'fastify-plugin';
import { createEmailProofs } from './email-proofs.js';
import { createOwnPassword, type OwnPassword } from './own-password.js';
import { createReauthenticate, type Reauthenticate } from './reauthentication.js';
import { createStepUp, type StepUp } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    stepUp: StepUp;
    ownPassword: OwnPassword;
    reauthenticate: Reauthenticate;
  }
  interface FastifyContextConfig {
    /** The route requires a session, which must be fresh. Otherwise, the error is REAUTHENTICATION_REQUIRED. */
    requiresFresh?: boolean;
    /** The route changes how the caller signs in, which managed users cannot: they get FORBIDDEN. */
    refusesManagedUsers?: boolean;
  }
}

/**
 * `app.stepUp`: requires that users have proved their identity recently. `app.reauthenticate`: lets them prove it again.
 * `app.ownPassword`: checks the caller's password.
 */
export const stepUpPlugin = plugin(
  async (app) => {
    const { config, db, clock, emailCodes, passwordChecks, secondFactor, passkeyProofs, signInMethods, activity } = app;
    const emailProofs = createEmailProofs({ db, clock, emailCodes });
    const ownPassword = createOwnPassword({ db, passwordChecks, signInMethods });
    const stepUp = createStepUp({
      db,
      clock,
      ownPassword,
      period: config.REAUTHENTICATION_PERIOD,
      signInMethods,
    });
    app.decorate('ownPassword', ownPassword);
    app.decorate('stepUp', stepUp);
    app.decorate(
      'reauthenticate',
      createReauthenticate({
        ...{ db, ownPassword, secondFactor, passwordChecks, emailProofs, stepUp, activity },
        passkeyProofs: config.AUTH_PASSKEYS ? passkeyProofs : null,
      }),
    );
  },
  {
    name: 'step-up',
    dependencies: [
      'config',
      'database',
      'clock',
      'tokens',
      'password-checks',
      'sign-in-methods',
      'second-factor',
      'webauthn',
      'activity',
    ],
  },
);
