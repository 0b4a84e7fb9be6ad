import { definePlugin } from '../platform/plugin.js';
import { createEmailProofs, type EmailProofs } from './email-proofs.js';
import { createOwnPassword, type OwnPassword } from './own-password.js';
import { createReauthenticate, type Reauthenticate } from './reauthentication.js';
import { createStepUp, type StepUp } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    stepUp: StepUp;
    ownPassword: OwnPassword;
    emailProofs: EmailProofs;
    reauthenticate: Reauthenticate;
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route requires a session, which must be fresh. Otherwise, the error is REAUTHENTICATION_REQUIRED. */
    requiresFresh?: boolean;
    /** The route changes how the caller signs in, which managed users cannot: they get FORBIDDEN. */
    refusesManagedUsers?: boolean;
  }
}

/**
 * `app.stepUp`: requires that users have proved their identity recently. `app.reauthenticate`: lets them prove it again.
 * `app.ownPassword` and `app.emailProofs`: check the caller's password, and codes and links from emails.
 */
export const stepUpPlugin = definePlugin('step-up', (services) => {
  const emailProofs = createEmailProofs(services);
  const ownPassword = createOwnPassword(services);
  const stepUp = createStepUp(services, ownPassword);
  const reauthenticate = createReauthenticate(services, { ownPassword, emailProofs, stepUp });
  return { emailProofs, ownPassword, stepUp, reauthenticate };
});
