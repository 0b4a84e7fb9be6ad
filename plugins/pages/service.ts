import { parseUrl } from '../../schemas/common.js';
import type { ListedProvider } from '../../schemas/providers.js';
import type { Locale, Locales } from '../platform/locales.js';
import { accountPath } from '../platform/urls.js';
import type { Assets } from './assets.js';
import type { Project } from './project.js';
import { themeName } from './theme.js';

export type PageName =
  | 'login'
  | 'forgot-password'
  | 'reset-password'
  | 'accept-invite'
  | 'register'
  | 'verify-email'
  | 'verified'
  | 'email-login'
  | 'confirm-email'
  | 'cancel-email-change'
  | 'not-me'
  | 'error'
  | 'account';

/** The sections of the account page, in the order of the navigation. */
export const accountViews = ['profile', 'security', 'sessions', 'connections'] as const;
export type AccountView = (typeof accountViews)[number];

/** The parts of a page request that affect the page. */
export interface PageRequest {
  query: Readonly<Record<string, unknown>>;
  acceptLanguage: string | undefined;
  /** The modes whose cookie the browser has, valid or not. */
  sessionModes: readonly ('session' | 'cookie')[];
  /** The section of the account page. Without it, the page shows the list of sections on phones. */
  view?: AccountView;
  /** The language that the user chose earlier in this browser. */
  language: string | undefined;
  /** For a page that a link in an email opens: whose link it is, or why it cannot be used. */
  link?: Link;
}

export type Link =
  /** `proof`: what the confirmation of a registration requires. `redirect`: the account page to open after the login. */
  { email: string; proof?: 'none' | 'password'; redirect?: string } | { reason: string };

export interface RenderedPage {
  html: string;
  /** The language that the user has chosen, to be remembered. */
  chosen: string | undefined;
  headers: Record<string, string>;
}

export interface Pages {
  accountViews: typeof accountViews;
  render(name: PageName, visit: PageRequest): Promise<RenderedPage>;
  /** A page for people that explains an error. */
  renderError(status: number, visit: PageRequest): Promise<RenderedPage>;
  /** The URL to which visitors who are not signed in are redirected. */
  loginUrl(visit: PageRequest): string;
  asset: Assets;
}

/** The features that the configuration enables. */
export interface Offers {
  /** Signing in with email and password. */
  passwordLogin: boolean;
  providers: boolean;
  twoFactor: boolean;
  passkeys: boolean;
}

export type OfferedProvider = ListedProvider & {
  /** Whether users can sign in with it on these pages. */
  session: boolean;
  /** Whether a first login creates an account. */
  registers: boolean;
  /** Whether it manages its users, who then cannot sign in any other way. */
  managed: boolean;
};

/** The features that the configuration and the current project settings enable. */
interface OffersNow extends Offers {
  /** Whether users who are not administrators can manage their own profile, address and data. */
  selfService: boolean;
  selfDeletion: boolean;
  /** Signing in with a code or a link from an email. */
  emailLogin: boolean;
}

interface Dependencies {
  locales: Locales;
  assets: Assets;
  renderTemplate(name: string, view: object): Promise<string>;
  project(): Promise<Project>;
  offers(): Offers;
  providers(): OfferedProvider[];
  passwordMinLength: number;
  /** The domain on which passkeys work. */
  passkeyDomain: string;
  /** The path of the service's public URL, without a trailing slash. */
  base: string;
}

/** Prefixes of the texts that scripts need. */
const scriptTexts = /^(error|fault|status|action|choice)_/;

/** The reasons for a failed email verification that have their own text. */
const knownReasons = new Set(['TOKEN_EXPIRED', 'INVALID_TOKEN', 'FORBIDDEN', 'INVALID_PAYLOAD', 'SERVICE_UNAVAILABLE']);

/** The providers whose logo the pages contain. */
const logos = new Set([
  'google',
  'microsoft',
  'apple',
  'github',
  'gitlab',
  'discord',
  'facebook',
  'okta',
  'auth0',
  'keycloak',
]);

/** The key of each section's title in the texts. */
const titleOf: Readonly<Record<AccountView, string>> = {
  profile: 'profile_title',
  security: 'security_title',
  sessions: 'sessions_title',
  connections: 'links_title',
};

export function createPages(deps: Dependencies): Pages {
  const { locales, assets, renderTemplate, project, offers, base, passwordMinLength, passkeyDomain } = deps;

  const assetUrl = (name: string) => `${base}/account/assets/${name}?v=${assets(name)?.version}`;

  const linksOf = (chosen: string | undefined) => {
    const to = (page: string) => `${base}/account${page}${chosen === undefined ? '' : `?lang=${chosen}`}`;
    return {
      view: (name: AccountView) => to(`/${name}`),
      account: to(''),
      login: to('/login'),
      forgotPassword: to('/forgot-password'),
      register: to('/register'),
    };
  };

  /** The sign-in page, which redirects the user after the login. */
  const loginWith = (login: string, redirect: string) =>
    `${login}${login.includes('?') ? '&' : '?'}${new URLSearchParams({ redirect })}`;

  /** The URL that starts a login at a provider. The login returns to the sign-in page, which redirects the user or displays the error. */
  const providerUrl = (name: string, redirect: string, login: string) => {
    const back = loginWith(login, redirect);
    return `${base}/auth/login/${encodeURIComponent(name)}?${new URLSearchParams({ redirect: back })}`;
  };

  const render = async (name: PageName, visit: PageRequest, status = 200): Promise<RenderedPage> => {
    const { query, acceptLanguage, sessionModes, view, language, link } = visit;
    const settings = await project();
    const lang = asText(query.lang);
    const locale = locales.pick(lang, language, ...acceptedLanguages(acceptLanguage), settings.default_language);
    const links = linksOf(lang && locale.tag);
    const redirect = accountPath(base, query.redirect);
    const reason = asText(query.reason);
    const offered: OffersNow = {
      ...offers(),
      selfService: settings.self_service,
      selfDeletion: settings.self_deletion,
      emailLogin: settings.email_login,
    };
    const theme = themeName(settings.project_color);
    const providers = deps.providers().map(({ name: key, label = key, icon = key, session, managed }) => {
      const known = [icon, key].find((wanted) => logos.has(wanted.toLowerCase()));
      return { name: key, label, icon: known?.toLowerCase() ?? 'other', session, managed };
    });
    const registering = new Set(
      deps
        .providers()
        .filter(({ registers }) => registers)
        .map(({ name: key }) => key),
    );
    const loginProviders = providers
      .filter(({ session }) => session)
      .map((provider) => ({
        ...provider,
        href: providerUrl(provider.name, redirect ?? links.account, links.login),
      }));

    const data = {
      page: name,
      language: locale.tag,
      base,
      links: { account: links.account, login: links.login },
      redirect: redirect ?? links.account,
      sessionModes,
      offers: offered,
      providers,
      passwordMinLength,
      passkeyDomain: offered.passkeys ? passkeyDomain : null,
      verifiesEmail: settings.public_registration_verify_email,
      link,
      reason: name === 'login' || name === 'account' ? reason : undefined,
      notice: name === 'login' && isLoginNotice(query.notice) ? query.notice : undefined,
      texts: Object.fromEntries(Object.entries(locale.pages).filter(([key]) => scriptTexts.test(key))),
    };
    const html = await renderTemplate(name, {
      page: name,
      status: String(status),
      t: locale.pages,
      lang: locale.tag,
      languages: languagesOf(locales, locale, { redirect, reason }),
      project: { name: settings.project_name, logo: settings.project_logo, language: settings.default_language },
      registration: settings.public_registration && offered.passwordLogin,
      offers: offered,
      reason: reason === undefined ? null : knownReasons.has(reason) ? reason : 'unknown',
      links,
      login_again: redirect === undefined ? links.login : loginWith(links.login, redirect),
      view: view ?? 'home',
      views: accountViews.map((one) => ({ name: one, href: links.view(one), title: titleOf[one] })),
      providers,
      provider_icons: [...new Set(providers.map(({ icon }) => icon))],
      login_providers: loginProviders,
      register_providers: loginProviders.filter(({ name: key }) => registering.has(key)),
      password_min_length: String(passwordMinLength),
      assets: {
        style: assetUrl('account.css'),
        theme: theme === undefined ? null : assetUrl(theme),
        script: assetUrl(name === 'account' ? 'signed-in.js' : 'visitor.js'),
      },
      data: inScript(data),
    });
    const chosen = lang !== undefined && locale.tag.startsWith(lang.slice(0, 2).toLowerCase()) ? locale.tag : undefined;
    return { html, chosen, headers: headersOf(locale, settings) };
  };

  return {
    accountViews,
    asset: assets,

    loginUrl: ({ query, view }) => {
      const lang = asText(query.lang);
      const target = view && `${base}/account/${view}${query.change === 'password' ? '?change=password' : ''}`;
      const parameters = new URLSearchParams({
        ...(lang === undefined ? {} : { lang: locales.pick(lang).tag }),
        ...(target === undefined ? {} : { redirect: target }),
      });
      return `${base}/account/login${parameters.size > 0 ? `?${parameters}` : ''}`;
    },

    renderError: (status, visit) => render('error', visit, [403, 404, 429].includes(status) ? status : 500),
    render,
  };
}

/** Whether the login page has a notice about what the user has just done. */
const isLoginNotice = (notice: unknown) => notice === 'signed-out' || notice === 'deleted' || notice === 'verified';

/** A link to the same page in each language. */
function languagesOf(locales: Locales, current: Locale, kept: Record<string, string | undefined>) {
  return locales.all.map(({ tag, name }) => {
    const parameters = new URLSearchParams({ lang: tag });
    for (const [key, value] of Object.entries(kept)) if (value !== undefined) parameters.set(key, value);
    return { tag, name, href: `?${parameters}`, current: tag === current.tag };
  });
}

const headersOf = (locale: Locale, { project_logo: logo }: Project) => ({
  'content-type': 'text/html; charset=utf-8',
  'content-language': locale.tag,
  'content-security-policy': contentSecurityPolicy(logo),
  'cache-control': 'no-store',
});

/** JSON for a script element. Every `<` is escaped, so that the JSON cannot end the element. */
const inScript = (data: object) => JSON.stringify(data).replaceAll('<', '\\u003c');

const asText = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** The languages of an Accept-Language header (RFC 9110, 12.5.4), in order of preference. */
function acceptedLanguages(header: string | undefined): string[] {
  return (header ?? '')
    .slice(0, 1000)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.split(';').map((text) => text.trim());
      const quality = parameters.find((text) => text.startsWith('q='))?.slice(2);
      return { tag, quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ tag, quality }) => /^[a-z]{1,8}(-[a-z0-9]{1,8})*$/i.test(tag) && quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag);
}

/** Pages can use only the scripts, styles and API of this service, and the project's logo. */
function contentSecurityPolicy(logo: string | null): string {
  const logoOrigin = logo === null ? undefined : originOf(logo);
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data:${logoOrigin === undefined ? '' : ` ${logoOrigin}`}`,
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** The origin of an external URL. A host can contain `;`, which would end the directive and start another one. */
function originOf(url: string): string | undefined {
  const { protocol = '', origin = '' } = parseUrl(url) ?? {};
  return /^https?:$/.test(protocol) && /^https?:\/\/[a-z0-9.:[\]-]+$/.test(origin) ? origin : undefined;
}
