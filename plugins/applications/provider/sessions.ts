import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { findSignIn } from '../../../db/queries/applications/sign-ins.js';
import { exchangeOf, type ProviderServices } from './exchange.js';
import { secondFactorAcr } from './scopes.js';

/**
 * An OpenID Connect session is a session of the service: the library has no session, and no session cookie, of its own. Everything that is
 * issued contains the ID of the session as `sid`.
 */
export function useOwnSessions({ db }: ProviderServices, provider: Provider): void {
  const { Client, Session } = provider;
  // The types leave out the properties that the library itself passes.
  const OwnSession = Session as unknown as new (properties?: object) => InstanceType<typeof Session>;
  Session.get = async (ctx) => {
    const context = ctx as KoaContextWithOIDC;
    const browser = exchangeOf(context).session;
    const signIn = browser && (await findSignIn(db, browser.id));
    const session = signIn
      ? new OwnSession({
          jti: browser.id,
          uid: browser.id,
          kind: 'Session',
          accountId: browser.user,
          loginTs: Math.floor(browser.authenticatedAt / 1_000),
          amr: signIn.amr,
          ...(signIn.amr.includes('mfa') ? { acr: secondFactorAcr } : {}),
        })
      : new OwnSession();
    context.oidc.entity('Session', session);
    return session;
  };
  // The library would leave out `sid` for clients without `backchannel_logout_uri`.
  (Client.prototype as unknown as { includeSid(): boolean }).includeSid = () => true;
  Session.prototype.sidFor = function (this: { uid: string }) {
    return this.uid;
  };
}
