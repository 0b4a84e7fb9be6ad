// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: tries hundreds of cases

import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { setCookies } from '../helpers/http/cookies.js';
import { refused } from '../helpers/http/refusals.js';
import { startOauth2Server } from '../helpers/providers/oauth2-server.js';
import { digestOfAccounts } from '../helpers/providers/provider-records.js';
import { allowList, publicUrl, type RedirectCase, redirectCorpus } from '../helpers/providers/redirect-corpus.js';
import { refusedLogin, signInCookies } from '../helpers/providers/refused-logins.js';
import {
  begin,
  completeLogin,
  createVisitor,
  followRedirect,
  startLinking,
  startPath,
} from '../helpers/providers/visitor.js';
import { startTestApp } from '../helpers/service/app.js';
import { administrator } from '../helpers/users/credentials.js';

const server = await startOauth2Server(t, { publicUrl, keys: ['listed', 'unlisted'] });
const open = { ALLOW_PUBLIC_REGISTRATION: 'true' };
const testApp = await startTestApp(t, {
  PUBLIC_URL: publicUrl,
  AUTH_PROVIDERS: 'listed,unlisted',
  ...server.variables('listed', { ...open, REDIRECT_ALLOW_LIST: allowList.join(',') }),
  ...server.variables('unlisted', open),
});
const { app } = testApp;
const newVisitor = () => createVisitor(testApp, publicUrl);
server.profile = { id: 1, name: 'Ada', email: 'ada@example.com' };

/** A URL with its control and non-ASCII characters escaped, for readable reports. */
const shown = (url: string) =>
  JSON.stringify(url).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Where the callback redirects a browser, resolved against our origin and without the fragment. */
function destination(response: LightMyRequestResponse): string {
  const { location } = response.headers;
  if (response.statusCode !== 302 || location === undefined) return `${response.statusCode} ${response.body}`;
  const url = new URL(String(location), `${publicUrl}/auth/login/listed/callback`);
  url.hash = '';
  return url.href;
}

/** Where a browser goes with `url`, without the fragment. */
function wanted(url: string, change: (url: URL) => void = () => {}): string {
  const read = new URL(url, publicUrl);
  read.hash = '';
  change(read);
  return read.href;
}

const withVerdict = (...verdicts: RedirectCase['verdict'][]) =>
  redirectCorpus.filter(({ verdict }) => verdicts.includes(verdict));

const asParameter = (url: string) => startPath('listed', { redirect: url });

t.test('the corpus is large, has no duplicates, and contains allowed and refused URLs', async (t) => {
  t.ok(redirectCorpus.length >= 200);
  t.equal(new Set(redirectCorpus.map(({ url }) => url)).size, redirectCorpus.length);
  t.ok(withVerdict('allowed').length >= 80);
  t.ok(withVerdict('refused').length >= 200);
});

/** A login that is rejected at its start sets no cookie, so it can never redirect to the URL. */
async function doesNotBegin(t: Test, path: string, what: string): Promise<void> {
  const response = await newVisitor().visit(path);
  if (response.statusCode < 400) t.fail(`${what}: the login starts`);
  else refused(t, response, 'INVALID_PAYLOAD', what);
  t.equal(response.headers['set-cookie'], undefined);
  t.equal(response.headers.location, undefined);
}

t.test('a login starts only with an allowed redirect URL (CVE-2024-28239, CVE-2024-52289)', async (t) => {
  for (const { url, verdict, why } of redirectCorpus) {
    const what = `${shown(url)}: ${verdict}, ${why}`;
    if (verdict === 'refused') await doesNotBegin(t, asParameter(url), what);
    if (verdict === 'allowed') {
      const response = await newVisitor().visit(asParameter(url));
      t.equal(response.statusCode, 302, what);
      t.ok(response.headers.location?.startsWith(`${server.origin}/authorize?`), what);
    }
  }
});

t.test('both login routes reject redirect URLs that are not allowed', async (t) => {
  for (const { url } of withVerdict('refused').filter((_, index) => index % 10 === 0)) {
    await doesNotBegin(t, startPath('listed', { redirect: url, family: 'oauth' }), shown(url));
  }
});

t.test('a successful login redirects to the URL from its start', async (t) => {
  for (const { url, why } of withVerdict('allowed')) {
    const response = await completeLogin(newVisitor(), 'listed', { redirect: url }, followRedirect);
    t.equal(destination(response), wanted(url), `${shown(url)}: ${why}`);
    t.equal(signInCookies(response).length, 1);
  }
});

t.test('a failed login redirects to the URL from its start, with the reason', async (t) => {
  for (const { url, why } of withVerdict('allowed')) {
    const visitor = newVisitor();
    const state = new URL(await begin(visitor, 'listed', { redirect: url })).searchParams.get('state') ?? '';
    const query = new URLSearchParams({ error: 'access_denied', state });
    const response = await visitor.visit(`/auth/login/listed/callback?${query}`);
    const target = wanted(url, (read) => {
      read.search = '?reason=INVALID_CREDENTIALS';
    });
    t.equal(destination(response), target, `${shown(url)}: ${why}`);
    t.strictSame(signInCookies(response), []);
  }
});

t.test('an ambiguous redirect URL is either rejected or stays on our origin', async (t) => {
  for (const { url } of withVerdict('ours or refused')) {
    const visitor = newVisitor();
    const started = await visitor.visit(asParameter(url));
    if (started.statusCode === 400) {
      refused(t, started, 'INVALID_PAYLOAD', shown(url));
      continue;
    }
    const response = await visitor.visit(await followRedirect(String(started.headers.location)));
    t.equal(response.statusCode, 302);
    const { location = '' } = response.headers;
    t.equal(new URL(location, publicUrl).origin, publicUrl, `${shown(url)} leads to ${location}`);
    t.notMatch(location, /^\/[/\\]|[^\x21-\x7e]/, 'the location is unambiguous');
  }
});

t.test('the callback ignores a redirect parameter (CVE-2026-22032)', async (t) => {
  const targets = withVerdict('refused').filter((_, index) => index % 3 === 0);
  for (const { url } of [...targets, { url: '/account' }, { url: allowList[0] }]) {
    const what = shown(url);
    const also = `&${new URLSearchParams({ redirect: url })}`;
    const succeeded = newVisitor();
    const callback = await followRedirect(await begin(succeeded, 'listed'));
    t.equal(destination(await succeeded.visit(callback + also)), `${publicUrl}/`, `${what}, signed in`);

    const failed = newVisitor();
    const state = new URL(await begin(failed, 'listed', { family: 'oauth' })).searchParams.get('state') ?? '';
    const query = new URLSearchParams({ error: 'access_denied', state });
    const response = await failed.visit(`/auth/login/listed/callback?${query}${also}`);
    refusedLogin(t, response, 'INVALID_CREDENTIALS', `${what}, denied`);

    const stranger = await newVisitor().visit(`/auth/login/listed/callback?code=x&state=x${also}`);
    refusedLogin(t, stranger, 'INVALID_CREDENTIALS', `${what}, without a login`);
  }
});

t.test('a redirect that is not a single string is rejected', async (t) => {
  const before = await digestOfAccounts(app);
  for (const query of [
    'redirect=/a&redirect=/b',
    `redirect=/a&redirect=${encodeURIComponent('//evil.example')}`,
    'redirect[]=/a',
    'redirect[]=/a&redirect[]=/b',
    'redirect[x]=/a',
    'redirect[href]=/a',
    'redirect[toString]=/a',
  ]) {
    await doesNotBegin(t, `/auth/login/listed?${query}`, query);
  }
  t.equal(await digestOfAccounts(app), before);
});

t.test('without an allow list, only our own origin is allowed', async (t) => {
  for (const url of allowList) {
    const response = await newVisitor().visit(startPath('unlisted', { redirect: url }));
    refused(t, response, 'INVALID_PAYLOAD', url);
  }
  server.profile = { id: 2, name: 'Byron', email: 'byron@example.com' };
  for (const url of ['/account', `${publicUrl}/account`]) {
    const response = await completeLogin(newVisitor(), 'unlisted', { redirect: url }, followRedirect);
    t.equal(destination(response), `${publicUrl}/account`);
  }
});

t.test('with an https PUBLIC_URL, the cookies of a login have the Secure attribute', async (t) => {
  const response = await newVisitor().visit(startPath('listed'));
  const cookies = Object.values(setCookies(response));
  t.ok(cookies.length > 0);
  for (const { attributes } of cookies) t.ok(attributes.includes('Secure'));
});

t.test('redirect URLs are checked in the same way for signed-in users', async (t) => {
  const visitor = newVisitor();
  const payload = { ...administrator, mode: 'session' };
  t.equal((await visitor.send({ method: 'POST', url: '/auth/login', payload })).statusCode, 200);
  for (const redirect of ['//evil.example', '/\\evil.example', 'javascript:alert(1)', 'https://evil.example/']) {
    refused(t, await visitor.visit(startPath('listed', { redirect })), 'INVALID_PAYLOAD', redirect);
    refused(t, await startLinking(visitor, 'listed', { redirect }), 'INVALID_PAYLOAD', `linking: ${redirect}`);
  }
});
