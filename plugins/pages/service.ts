import type { Locale, Locales } from '../platform/locales.js';
import { ambiguous, pathHere } from '../platform/urls.js';
import type { Asset, Assets } from './assets.js';
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
  | 'confirm-email'
  | 'cancel-email-change'
  | 'account';

/** The parts of a page request that affect the page. */
export interface Visit {
  query: Readonly<Record<string, unknown>>;
  acceptLanguage: string | undefined;
  /** Whether the request has a session cookie, valid or not. */
  hasSession: boolean;
  /** For the page that confirms a registration: what the confirmation requires, or why it is not possible. */
  confirmation?: { email: string; proof: 'none' | 'password' } | { reason: string };
}

export interface RenderedPage {
  html: string;
  headers: Record<string, string>;
}

export interface Pages {
  render(name: PageName, visit: Visit): Promise<RenderedPage>;
  /** The URL to which visitors who are not signed in are redirected. */
  loginUrl(visit: Visit): string;
  asset: Assets;
}

/** The features that the configuration enables. */
export interface Offers {
  /** Signing in with email and password. */
  passwordLogin: boolean;
  providers: boolean;
  twoFactor: boolean;
}

/** The features that the configuration and the current project settings enable. */
interface OffersNow extends Offers {
  /** Whether users who are not administrators can manage their own profile, address and data. */
  selfService: boolean;
  selfDeletion: boolean;
}

interface Dependencies {
  locales: Locales;
  assets: Assets;
  renderTemplate(name: string, view: object): Promise<string>;
  project(): Promise<Project>;
  offers(): Offers;
  /** The path of the service's public URL, without a trailing slash. */
  base: string;
}

/** Prefixes of the texts that scripts need. */
const scriptTexts = /^(error|fault|status|action|choice)_/;

/** The reasons for a failed email verification that have their own text. */
const knownReasons = new Set(['TOKEN_EXPIRED', 'INVALID_TOKEN', 'FORBIDDEN', 'INVALID_PAYLOAD', 'SERVICE_UNAVAILABLE']);

export function createPages({ locales, assets, renderTemplate, project, offers, base }: Dependencies): Pages {
  const assetUrl = (name: string) => `${base}/account/assets/${name}?v=${(assets(name) as Asset).version}`;

  const linksOf = (chosen: string | undefined) => {
    const to = (page: string) => `${base}/account${page}${chosen === undefined ? '' : `?lang=${chosen}`}`;
    return {
      account: to(''),
      login: to('/login'),
      forgotPassword: to('/forgot-password'),
      register: to('/register'),
    };
  };

  /**
   * The target after a login, which must be one of the pages: a path of the API could make the browser do something for an attacker.
   * The paths of the pages consist of plain characters, so a path with encoded characters is rejected.
   */
  const accountPath = (wanted: unknown): string | undefined => {
    const path = typeof wanted === 'string' && !ambiguous.test(wanted) ? pathHere(wanted) : undefined;
    if (path === undefined || !path.startsWith(`${base}/account`)) return undefined;
    const [page = ''] = path.slice(`${base}/account`.length).split(/[?#]/, 1);
    return /^(\/[a-z-]+)*\/?$/.test(page) ? path : undefined;
  };

  return {
    asset: assets,

    loginUrl: ({ query }) => linksOf(asText(query.lang) && locales.pick(asText(query.lang)).tag).login,

    render: async (name, { query, acceptLanguage, hasSession, confirmation }) => {
      const settings = await project();
      const lang = asText(query.lang);
      const locale = locales.pick(lang, ...acceptedLanguages(acceptLanguage), settings.default_language);
      const links = linksOf(lang && locale.tag);
      const redirect = accountPath(query.redirect);
      const reason = asText(query.reason);
      const offered: OffersNow = {
        ...offers(),
        selfService: settings.self_service,
        selfDeletion: settings.self_deletion,
      };
      const theme = themeName(settings.project_color);

      const data = {
        page: name,
        language: locale.tag,
        base,
        links: { account: links.account, login: links.login },
        redirect: redirect ?? links.account,
        hasSession,
        offers: offered,
        verifiesEmail: settings.public_registration_verify_email,
        confirmation,
        reason: name === 'login' || name === 'account' ? reason : undefined,
        notice: name === 'login' && isLoginNotice(query.notice) ? query.notice : undefined,
        texts: Object.fromEntries(Object.entries(locale.pages).filter(([key]) => scriptTexts.test(key))),
      };
      const html = await renderTemplate(name, {
        page: name,
        t: locale.pages,
        lang: locale.tag,
        languages: languagesOf(locales, locale, { redirect, reason }),
        project: { name: settings.project_name, logo: settings.project_logo, language: settings.default_language },
        registration: settings.public_registration && offered.passwordLogin,
        offers: offered,
        reason: reason === undefined ? null : knownReasons.has(reason) ? reason : 'unknown',
        links,
        assets: {
          style: assetUrl('account.css'),
          theme: theme === undefined ? null : assetUrl(theme),
          script: assetUrl(name === 'account' ? 'signed-in.js' : 'visitor.js'),
        },
        data: inScript(data),
      });
      return { html, headers: headersOf(locale, settings) };
    },
  };
}

/** Whether the login page has a notice about what the user has just done. */
const isLoginNotice = (notice: unknown) => notice === 'signed-out' || notice === 'deleted';

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
  if (!URL.canParse(url)) return undefined;
  const { protocol, origin } = new URL(url);
  return /^https?:$/.test(protocol) && /^https?:\/\/[a-z0-9.:[\]-]+$/.test(origin) ? origin : undefined;
}
