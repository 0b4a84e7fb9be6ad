import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../schemas/errors.js';
import type { App } from '../app.js';

type Page = Parameters<FastifyReply['sendPage']>[0];
type Link = NonNullable<Parameters<App['pages']['signIn']>[1]>;

/** Every page, by its path below `/account`: the page, or a function that computes it for a request. The tests check all of them. */
export function pagesByPath(app: App): Readonly<Record<string, Page | ((request: FastifyRequest) => Promise<Page>)>> {
  const { pages, registration, registrationBrowser, invites, passwordReset, emailLogin, emailChanges } = app;
  const { signIn, account, accountViews } = pages;

  /** A page that a link in an email opens. Opening it changes nothing, because programs that scan emails do that as well. */
  const linkPage =
    (name: string, inspect: (token: string, browserHashes: readonly string[]) => Promise<Link>) =>
    async (request: FastifyRequest) => {
      const { token } = request.query as { token?: unknown };
      if (typeof token !== 'string') return signIn(name);
      const link = await inspect(token, registrationBrowser.hashesIn(request)).catch((error: unknown) => ({
        reason: error instanceof ApiError ? error.code : 'SERVICE_UNAVAILABLE',
      }));
      return signIn(name, link);
    };

  /** The page that asks, for applications that cannot show whose session they mean. */
  const signOutPage = async ({ query }: FastifyRequest) => {
    const texts = Object.entries(query as object).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    );
    const { client_id, post_logout_redirect_uri, state } = Object.fromEntries(texts);
    const asked = await app.openIdProvider.signOut.read({ client_id, post_logout_redirect_uri, state }, null);
    return pages.authorize.signOut(asked.client?.label ?? null, asked.to);
  };

  /**
   * The account page. If it was opened for the request of an application, it links to the rest of that request, which checks that the
   * request belongs to this browser.
   */
  const accountPage = (view?: (typeof accountViews)[number]) => async (request: FastifyRequest) => {
    const { redirect } = request.query as { redirect?: unknown };
    const prefix = `${app.basePath}/account/authorize/`;
    if (typeof redirect !== 'string' || !redirect.startsWith(prefix)) return account(view);
    const { clientOf } = app.openIdProvider.authorizationRequests;
    // The page is useful without the link.
    const client = await clientOf(redirect.slice(prefix.length), request.client).catch(() => undefined);
    return account(view, client && { application: client.label, href: redirect });
  };

  return {
    // The pages for visitors are open to anyone, so an invalid session cookie does not keep users from signing in again.
    login: signIn('login'),
    'forgot-password': signIn('forgot-password'),
    register: signIn('register'),
    verified: signIn('verified'),
    'cancel-email-change': signIn('cancel-email-change'),
    'not-me': signIn('not-me'),
    'verify-email': linkPage('verify-email', registration.inspect),
    'accept-invite': linkPage('accept-invite', invites.inspect),
    'reset-password': linkPage('reset-password', passwordReset.inspect),
    'email-login': linkPage('email-login', emailLogin.inspect),
    'confirm-email': linkPage('confirm-email', emailChanges.inspect),
    // The pages about applications. The one that asks for consent belongs to a request: see authorize.ts.
    device: pages.authorize.device,
    'sign-out': signOutPage,
    // The account page. Each of its sections has its own URL.
    '': accountPage(),
    ...Object.fromEntries(accountViews.map((view) => [view, accountPage(view)])),
  };
}
