import type { App } from '../app.js';
import { completeProviderLogin } from './complete-provider-login.js';
import { finishOAuthLogin, finishProviderLogin, submitOAuthLogin, submitProviderLogin } from './finish-login.js';
import { linkIdentity } from './link-identity.js';
import { listIdentities } from './list-identities.js';
import { listIdentitiesOfUser } from './list-identities-of-user.js';
import { listProviderKeys } from './list-provider-keys.js';
import { listProviders } from './list-providers.js';
import { startOAuthLogin } from './start-oauth-login.js';
import { startProviderLogin } from './start-provider-login.js';
import { unlinkIdentity } from './unlink-identity.js';
import { unlinkIdentityOfUser } from './unlink-identity-of-user.js';

/** Under `/auth`. */
export async function providersRoutes(app: App): Promise<void> {
  listProviderKeys(app);
  listProviders(app);
  startOAuthLogin(app);
  startProviderLogin(app);
  finishOAuthLogin(app);
  finishProviderLogin(app);
  completeProviderLogin(app);
  await app.register(formRoutes);
}

/** Pages of providers submit forms to these routes. The service checks that a form belongs to a login in this browser. */
async function formRoutes(app: App): Promise<void> {
  app.setProtocol({ bodies: ['json', 'form'], config: { acceptsFormsOfOtherSites: app.providerFlow.returnsForms } });
  submitOAuthLogin(app);
  submitProviderLogin(app);
}

/** Under `/users`. */
export async function identitiesRoutes(app: App): Promise<void> {
  listIdentities(app);
  linkIdentity(app);
  unlinkIdentity(app);
  listIdentitiesOfUser(app);
  unlinkIdentityOfUser(app);
}
