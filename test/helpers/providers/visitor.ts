import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { type CookieJar, createJar } from '../browser/cookie-jar.js';
import type { TestApp } from '../service/app.js';

/** A browser that calls the service without a socket. It stores cookies, but does not follow redirects. */
export interface Visitor {
  readonly jar: CookieJar;
  /** Opens a page. @param url a URL of the service, absolute or relative to its root */
  visit(url: string, headers?: Record<string, string>): Promise<LightMyRequestResponse>;
  send(options: InjectOptions & { url: string }): Promise<LightMyRequestResponse>;
  /** The `Cookie` header that the browser sends with a request for `url`. */
  cookies(url: string): Promise<string>;
}

export function createVisitor({ request }: Pick<TestApp, 'request'>, publicUrl: string): Visitor {
  const jar = createJar();
  const cookies = (url: string) => jar.getCookieString(new URL(url, publicUrl).href);
  const send: Visitor['send'] = async ({ headers, ...options }) => {
    const { href, origin } = new URL(options.url, publicUrl);
    const cookie = await cookies(href);
    const all = { ...(cookie === '' ? {} : { cookie }), ...headers };
    const response = await request({ ...options, url: href.slice(origin.length), headers: all });
    for (const line of [response.headers['set-cookie'] ?? []].flat()) await jar.setCookie(line, href);
    return response;
  };
  return { jar, send, cookies, visit: (url, headers = {}) => send({ method: 'GET', url, headers }) };
}

/** How to start a login: the family of routes to use, or `link` to link a provider account instead. */
export interface Start {
  family?: 'login' | 'oauth';
  redirect?: string;
  link?: boolean;
}

/** The path that starts a login through a provider. */
export function startPath(provider: string, { family = 'login', redirect }: Start = {}): string {
  const query = new URLSearchParams();
  if (redirect !== undefined) query.set('redirect', redirect);
  return `/auth/${family}/${provider}${query.size > 0 ? `?${query}` : ''}`;
}

/** Sends the request that links a provider account. */
export const startLinking = (
  { send }: Visitor,
  provider: string,
  body: object = {},
  headers: Record<string, string> = {},
): Promise<LightMyRequestResponse> =>
  send({ method: 'POST', url: `/users/me/identities/${provider}`, payload: body, headers });

/** Starts a login, or the linking of an account. Returns the URL to which the browser is redirected. */
export async function begin(visitor: Visitor, provider: string, start: Start = {}): Promise<string> {
  const { visit } = visitor;
  if (start.link) {
    const { redirect } = start;
    const response = await startLinking(visitor, provider, redirect === undefined ? {} : { redirect });
    if (response.statusCode !== 200) throw new Error(`Linking did not start: ${response.body}`);
    return response.json().data.url;
  }
  const response = await visit(startPath(provider, start));
  const { location } = response.headers;
  if (response.statusCode !== 302 || typeof location !== 'string') {
    throw new Error(`The login did not start: ${response.statusCode} ${response.body}`);
  }
  return location;
}

/** Visits a provider without a login page, and returns the URL to which it redirects immediately. */
export async function followRedirect(url: string): Promise<string> {
  const response = await fetch(url, { redirect: 'manual' });
  const location = response.headers.get('location');
  if (location === null) throw new Error(`The provider returned ${response.status}: ${await response.text()}`);
  return location;
}

/**
 * Performs a complete login: starts it on the service, logs in at the provider, and returns to the service.
 * @param atProvider receives the URL to which the service redirects, and returns the URL to which the provider
 * redirects
 */
export async function completeLogin(
  visitor: Visitor,
  provider: string,
  start: Start,
  atProvider: (url: string) => Promise<string>,
): Promise<LightMyRequestResponse> {
  return visitor.visit(await atProvider(await begin(visitor, provider, start)));
}

/** Visits a provider that returns the browser with a form. Returns the URL and the fields that the form submits. */
export async function readForm(url: string): Promise<{ url: string; fields: Record<string, string> }> {
  const page = await (await fetch(url, { redirect: 'manual' })).text();
  const decoded = (text = '') => text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&');
  const inputs = page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g);
  return {
    url: decoded(/action="([^"]+)"/.exec(page)?.[1]),
    fields: Object.fromEntries([...inputs].map(([, name, value]) => [name, decoded(value)])),
  };
}

/** Submits a form from a page of another site, as a browser does. It sends only cookies that are not limited to this site. */
export async function submitForm(
  { jar, request }: Visitor & { request: TestApp['request'] },
  { url, fields }: { url: string; fields: Record<string, string> },
  headers: Record<string, string> = {},
): Promise<LightMyRequestResponse> {
  const { origin } = new URL(url);
  const sent = (await jar.getCookies(url)).filter(({ sameSite }) => sameSite === 'none');
  const response = await request({
    method: 'POST',
    url: url.slice(origin.length),
    payload: String(new URLSearchParams(fields)),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'https://provider.example',
      'sec-fetch-site': 'cross-site',
      cookie: sent.map(({ key, value }) => `${key}=${value}`).join('; '),
      ...headers,
    },
  });
  for (const line of [response.headers['set-cookie'] ?? []].flat()) await jar.setCookie(line, url);
  return response;
}
