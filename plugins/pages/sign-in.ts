import type { Page } from './service.js';

/** For a page that a link in an email opens: whose link it is, or why it cannot be used. */
type Link =
  /** `proof`: what the confirmation of a registration requires. `redirect`: the account page to open after the login. */
  { email: string; proof?: 'none' | 'password'; redirect?: string } | { reason: string };

/** The reasons for a failed email verification that have their own text. */
const knownReasons = new Set(['TOKEN_EXPIRED', 'INVALID_TOKEN', 'FORBIDDEN', 'INVALID_PAYLOAD', 'SERVICE_UNAVAILABLE']);

/** The application for which a user signs in. */
export interface SignInFor {
  /** What to call the application. */
  application: string;
  /** The account page that continues the application's request. */
  redirect: string;
  /** Whether the user is signed in, but must prove their identity again. */
  again: boolean;
  /** The email address that the application suggests. */
  loginHint: string | undefined;
  locales: readonly string[];
}

/** A page for visitors. */
export const signInPage = (name: string, link?: Link, target?: SignInFor): Page => ({
  application: 'sign-in',
  name,
  ...(target ? { locales: target.locales } : {}),
  add: (shared) => {
    const { base, project, query, reason, urlOf } = shared;
    const returnTo = target ? undefined : shared.returnTo;
    const redirect = target?.redirect ?? shared.redirect;
    const offers = { ...shared.offers, emailLogin: project.email_login };
    const links = { ...shared.links, forgotPassword: urlOf('/forgot-password'), register: urlOf('/register') };
    const to = returnTo ?? redirect ?? links.account;
    const loginAgain =
      returnTo === undefined
        ? loginWith(links.login, { redirect: to })
        : loginWith(links.login, { return_to: returnTo });
    const providers = shared.providers
      .filter(({ session }) => session)
      .map((provider) => ({ ...provider, href: providerUrl(base, provider.name, loginAgain) }));
    return {
      view: {
        offers,
        links,
        application: target?.application ?? (returnTo === undefined ? null : new URL(returnTo).host),
        signs_in_again: target?.again === true,
        login_again: to === links.account ? links.login : loginAgain,
        registration: project.public_registration && offers.passwordLogin,
        login_providers: providers,
        register_providers: providers.filter(({ registers }) => registers),
        reason: reason === undefined ? null : knownReasons.has(reason) ? reason : 'unknown',
      },
      data: {
        offers,
        redirect: to,
        returnTo,
        signsInAgain: target?.again === true,
        loginHint: target?.loginHint?.slice(0, 128),
        verifiesEmail: project.public_registration_verify_email,
        link,
        notice: isLoginNotice(query.notice) ? query.notice : undefined,
      },
    };
  },
});

/** A page for people that explains an error. */
export const errorPage = (status: number): Page => ({
  application: 'sign-in',
  name: 'error',
  add: () => ({ view: { status: [403, 404, 429].includes(status) ? String(status) : '500' } }),
});

/** The sign-in page, which redirects the user after the login. */
const loginWith = (login: string, target: { redirect: string } | { return_to: string }) =>
  `${login}${login.includes('?') ? '&' : '?'}${new URLSearchParams(target)}`;

/** The URL that starts a login at a provider. @param back the sign-in page, which redirects the user or displays the error */
const providerUrl = (base: string, name: string, back: string) =>
  `${base}/auth/login/${encodeURIComponent(name)}?${new URLSearchParams({ redirect: back })}`;

/** Whether the login page has a notice about what the user has just done. */
const isLoginNotice = (notice: unknown) => notice === 'signed-out' || notice === 'deleted' || notice === 'verified';
