import { parseUrl } from '../../schemas/common.js';
import type { Locale, Locales } from '../platform/locales.js';
import { pagePath, returnUrl } from '../platform/urls.js';
import type { Assets } from './assets.js';
import type { Project } from './project.js';
import type { OfferedProvider } from './providers.js';
import type { RenderTemplate } from './templates.js';
import type { Texts } from './texts.js';
import { themeName } from './theme.js';

/** A page of an application in `pages/`. */
export interface Page {
  application: string;
  /** The name of its template. */
  name: string;
  /** For a page that requires a session: the path, below that of the service, to which visitors return after signing in. */
  returnTo?: string;
  /** The languages that an application has requested. A language that the user has chosen takes precedence. */
  locales?: readonly string[];
  /** Whether the page can show images of other hosts: the logos of applications, and the pictures of users. */
  showsLogos?: boolean;
  /** Whether its scripts write the whole page, and therefore need all texts. */
  isWrittenByScripts?: boolean;
  /** What the application adds to what all pages share. */
  add?(shared: SharedByPages): Addition;
}

export interface Addition {
  /** For the template. */
  view?: object;
  /** For the scripts in the browser. */
  data?: object;
}

/** What an application can use to compute what it adds. */
export interface SharedByPages {
  /** The texts of the application, in the language of the page. */
  t: Readonly<Record<string, string>>;
  query: Visit['query'];
  /** The path of the service's public URL, without a trailing slash. */
  base: string;
  project: Project;
  /** The languages in which the pages are available. */
  languages: readonly { tag: string; name: string }[];
  offers: Offers;
  providers: readonly OfferedProvider[];
  links: { account: string; login: string };
  /** The URL of another page, in the same language. @param path below `/account` */
  urlOf(path: string): string;
  /** The page to which the user returns after the login, if the request names one. */
  redirect: string | undefined;
  /** The URL of an app to which the user returns after the login, if the request names one that is allowed. */
  returnTo: string | undefined;
  /** Why the user returned without what they went for, from a provider or a link. */
  reason: string | undefined;
}

/** The parts of a request that affect the page. */
export interface Visit {
  query: Readonly<Record<string, unknown>>;
  acceptLanguage: string | undefined;
  /** The modes whose cookie the browser has, valid or not. */
  sessionModes: readonly ('session' | 'cookie')[];
  /** The language that the user chose earlier in this browser. */
  language: string | undefined;
}

export interface RenderedPage {
  html: string;
  /** The language that the user has chosen, to be remembered. */
  chosen: string | undefined;
  headers: Record<string, string>;
}

export interface PageRenderer {
  render(page: Page, visit: Visit): Promise<RenderedPage>;
  /** The URL to which visitors who are not signed in are redirected. @param returnTo the page to return to, as in `Page` */
  loginUrl(query: Visit['query'], returnTo: string): string;
}

/** The features that the configuration enables. */
export interface Offers {
  /** Signing in with email and password. */
  passwordLogin: boolean;
  providers: boolean;
  twoFactor: boolean;
  passkeys: boolean;
}

interface Dependencies {
  locales: Locales;
  textsOf(application: string, tag: string): Texts;
  assets: Assets;
  renderTemplate: RenderTemplate;
  project(): Promise<Project>;
  offers(): Offers;
  providers(): OfferedProvider[];
  passwordMinLength: number;
  /** The domain on which passkeys work. */
  passkeyDomain: string;
  /** The path of the service's public URL, without a trailing slash. */
  base: string;
  /** The origins of the apps to which users can return after the login. */
  returnOrigins: readonly string[];
}

export function createPageRenderer(deps: Dependencies): PageRenderer {
  const { locales, textsOf, assets, renderTemplate, base, passwordMinLength, passkeyDomain } = deps;

  const assetUrl = (name: string) => `${base}/account/assets/${name}?v=${assets(name)?.version}`;

  const render = async (
    { application, name, locales: preferred = [], showsLogos = false, isWrittenByScripts = false, add }: Page,
    visit: Visit,
  ): Promise<RenderedPage> => {
    const { query, acceptLanguage, sessionModes, language } = visit;
    const project = await deps.project();
    const lang = asText(query.lang);
    const accepted = acceptedLanguages(acceptLanguage);
    const locale = locales.pick(lang, language, ...preferred, ...accepted, project.default_language);
    const texts = textsOf(application, locale.tag);
    const urlOf = (path: string) => `${base}/account${path}${lang === undefined ? '' : `?lang=${locale.tag}`}`;
    const shared: SharedByPages = {
      t: texts.all,
      query,
      base,
      project,
      languages: locales.all.map(({ tag, name }) => ({ tag, name })),
      offers: deps.offers(),
      providers: deps.providers(),
      links: { account: urlOf(''), login: urlOf('/login') },
      urlOf,
      redirect: pagePath(base, query.redirect),
      returnTo: returnUrl(deps.returnOrigins, query.return_to),
      reason: asText(query.reason),
    };
    const { offers, providers, links, redirect, returnTo, reason } = shared;
    const { view, data } = add?.(shared) ?? {};
    const theme = themeName(project.project_color);

    const html = await renderTemplate(`${application}/${name}`, {
      page: name,
      t: texts.all,
      lang: locale.tag,
      languages: languagesOf(locales, locale, { redirect, return_to: returnTo, reason }),
      project: { name: project.project_name, logo: project.project_logo },
      offers,
      links,
      providers,
      provider_icons: [...new Set(providers.map(({ icon }) => icon))],
      password_min_length: String(passwordMinLength),
      assets: {
        style: assetUrl(`${application}.css`),
        theme: theme === undefined ? null : assetUrl(theme),
        script: assetUrl(`${application}.js`),
      },
      data: inScript({
        page: name,
        language: locale.tag,
        base,
        links,
        sessionModes,
        offers,
        providers,
        passwordMinLength,
        passkeyDomain: offers.passkeys ? passkeyDomain : null,
        reason,
        texts: isWrittenByScripts ? texts.all : texts.inScripts,
        ...data,
      }),
      ...view,
    });
    const chosen = lang !== undefined && locale.tag.startsWith(lang.slice(0, 2).toLowerCase()) ? locale.tag : undefined;
    return { html, chosen, headers: headersOf(locale, project, showsLogos) };
  };

  return {
    render,
    loginUrl: (query, returnTo) => {
      const lang = asText(query.lang);
      const code = asText(query.user_code);
      const kept = {
        ...(query.change === 'password' ? { change: 'password' } : {}),
        ...(code === undefined ? {} : { user_code: code.slice(0, 20) }),
      };
      const rest = String(new URLSearchParams(kept));
      const target = `${base}${returnTo}${rest === '' ? '' : `${returnTo.includes('?') ? '&' : '?'}${rest}`}`;
      const parameters = new URLSearchParams({
        ...(lang === undefined ? {} : { lang: locales.pick(lang).tag }),
        ...(returnTo === '/account' ? {} : { redirect: target }),
      });
      return `${base}/account/login${parameters.size > 0 ? `?${parameters}` : ''}`;
    },
  };
}

/** A link to the same page in each language. */
function languagesOf(locales: Locales, current: Locale, kept: Record<string, string | undefined>) {
  return locales.all.map(({ tag, name }) => {
    const parameters = new URLSearchParams({ lang: tag });
    for (const [key, value] of Object.entries(kept)) if (value !== undefined) parameters.set(key, value);
    return { tag, name, href: `?${parameters}`, current: tag === current.tag };
  });
}

const headersOf = (locale: Locale, { project_logo: logo }: Project, showsLogos: boolean) => ({
  'content-type': 'text/html; charset=utf-8',
  'content-language': locale.tag,
  'content-security-policy': contentSecurityPolicy(logo, showsLogos),
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

/**
 * Pages can use only the scripts, styles and API of this service, and the project's logo.
 * @param showsLogos whether images can come from any https host: the policy is sent before the page knows the applications of its user
 */
function contentSecurityPolicy(logo: string | null, showsLogos: boolean): string {
  const logoOrigin = logo === null ? undefined : originOf(logo);
  const others = [...(logoOrigin === undefined ? [] : [logoOrigin]), ...(showsLogos ? ['https:'] : [])];
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ['img-src', "'self'", 'data:', ...others].join(' '),
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
