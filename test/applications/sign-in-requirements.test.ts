import { eq, sql } from 'drizzle-orm';
import * as oidc from 'openid-client';
import t, { type Test } from 'tap';
import { passkeys, users } from '../../db/schema.js';
import { createBrowser, redirectUri, startProvider } from '../helpers/applications/applications.js';
import { createJar, fetchWith } from '../helpers/browser/cookie-jar.js';
import { asAdmin } from '../helpers/http/writing.js';
import { createPolicy } from '../helpers/users/rights.js';
import { currentCode, rfcSecret } from '../helpers/users/totp.js';
import { createUser, type NewUser } from '../helpers/users/users.js';

const mfa = 'urn:gatehouse:mfa';

/** What an authorization request requires of the sign-in, and which sessions count (capabilities 9). */
t.test('sign-ins for an application', async (t) => {
  const provider = await startProvider(t);
  const { app, url, clock } = provider;
  const config = await provider.discover(await provider.addClient());

  const urlFor = async (parameters: Record<string, string> = {}) =>
    oidc.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'openid',
      state: 'a-state',
      code_challenge: await oidc.calculatePKCECodeChallenge(oidc.randomPKCECodeVerifier()),
      code_challenge_method: 'S256',
      ...parameters,
    });
  /** A browser, and a user who signs in with it when `logIn` is called. */
  const visitor = async (columns: NewUser = {}, mode: 'session' | 'cookie' = 'session') => {
    const user = await createUser(app, columns);
    const jar = createJar();
    const send = fetchWith(jar) as typeof fetch;
    const { email, password } = user;
    const post = (path: string, body: object) =>
      send(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const logIn = async (otp?: string) => {
      const response = await post('/auth/login', { email, password, mode, ...(otp ? { otp } : {}) });
      if (!response.ok) throw new Error(await response.text());
    };
    const open = (to: URL | string) => send(new URL(to, url), { redirect: 'manual' });
    /** Opens a URL, and follows the redirects of the service. @returns the page, or the URL of the client */
    const follow = async (to: URL | string): Promise<{ page?: URL; status?: number; back?: URL }> => {
      let next = new URL(to, url);
      for (let steps = 0; steps < 8; steps++) {
        if (next.origin !== url) return { back: next };
        const response = await open(next);
        const location = response.headers.get('location');
        if (location === null) return { page: next, status: response.status };
        next = new URL(location, next);
      }
      throw new Error(`${next} redirects in a loop`);
    };
    return { ...user, jar, send, post, logIn, open, follow };
  };

  const isUnmet = (t: Test, back: URL | undefined, what: string) => {
    t.equal(back?.searchParams.get('error'), 'unmet_authentication_requirements', what);
    t.equal(back?.searchParams.get('state'), 'a-state', what);
    t.equal(back?.searchParams.get('iss'), url, what);
  };

  t.test('a request that requires a second factor fails if the user has none', async (t) => {
    const signedIn = await visitor();
    await signedIn.logIn();
    isUnmet(t, (await signedIn.follow(await urlFor({ acr_values: mfa }))).back, 'signed in before');
    isUnmet(t, (await signedIn.follow(await urlFor({ acr_values: mfa, prompt: 'none' }))).back, 'without a page');
    isUnmet(t, (await signedIn.follow(await urlFor({ acr_values: mfa, prompt: 'login' }))).back, 'with a new sign-in');

    const later = await visitor();
    const { page, status } = await later.follow(await urlFor({ acr_values: mfa }));
    t.equal(status, 200);
    t.match(page?.pathname, /^\/account\/authorize\//);
    await later.logIn();
    isUnmet(t, (await later.follow(page ?? '')).back, 'signed in on the way');
    const none = await later.follow(await urlFor({ prompt: 'none' }));
    t.ok(none.back?.searchParams.get('code'), 'other requests work');
  });

  t.test('a user with a second factor signs in with it', async (t) => {
    const strong = await visitor({ tfa: true });
    await strong.logIn(currentCode(rfcSecret.base32, clock.now()));
    const browser = createBrowser(url, strong.jar, strong.send);
    const tokens = await browser.signIn(config, { acr_values: mfa });
    t.match(tokens.claims(), { acr: mfa, amr: ['mfa', 'otp', 'pwd'] });

    const withPasskey = await visitor();
    await app.db.insert(passkeys).values({
      user: withPasskey.id,
      credentialId: 'a-passkey',
      publicKey: '',
      counter: 0,
      transports: [],
      isBackupEligible: false,
      isBackedUp: false,
      aaguid: '00000000-0000-0000-0000-000000000000',
      name: 'Laptop',
      createdAt: app.clock(),
    });
    await withPasskey.logIn();
    const { status, page } = await withPasskey.follow(await urlFor({ acr_values: mfa }));
    t.equal(status, 200, 'the passkey of the user could satisfy the request');
    t.match(page?.pathname, /^\/account\/authorize\//);
    const none = await withPasskey.follow(await urlFor({ acr_values: mfa, prompt: 'none' }));
    t.equal(none.back?.searchParams.get('error'), 'login_required');
  });

  t.test('a user who must set up a second factor first does so on the account page', async (t) => {
    const policy = await createPolicy(app, { enforceTfa: true });
    const restricted = await visitor({ policies: [policy] });
    const { page } = await restricted.follow(await urlFor());
    await restricted.logIn();
    const to = await restricted.follow(page ?? '');
    t.equal(to.page?.pathname, '/account');
    const html = async (of: typeof restricted, at: URL | string) => (await of.open(at)).text();
    const link = (target: string) => `<a class="button primary" href="${target}">Continue to An app</a>`;
    t.match(await html(restricted, to.page ?? ''), link(page?.pathname ?? ''));

    const secret = rfcSecret.base32;
    const enabled = await restricted.post('/users/me/tfa/enable', { secret, otp: currentCode(secret, clock.now()) });
    t.equal(enabled.status, 204);
    const { back } = await restricted.follow(page ?? '');
    t.ok(back?.searchParams.get('code'), 'then, the request continues');
    t.notMatch(await html(restricted, to.page ?? ''), 'Continue to', 'the request has been completed');

    const other = await visitor();
    await other.logIn();
    for (const redirect of [
      '/account/authorize/unknown',
      '/account/authorize/',
      '/account/security',
      'https://evil.example/account/authorize/x',
      `//evil.example${page?.pathname}`,
    ]) {
      t.notMatch(await html(other, `/account?${new URLSearchParams({ redirect })}`), 'Continue to', redirect);
    }
    const foreign = (await restricted.follow(await urlFor({ prompt: 'login' }))).page;
    t.match(await html(other, `/account?${new URLSearchParams({ redirect: foreign?.pathname ?? '' })}`), 'Continue to');
    t.equal((await other.follow(foreign ?? '')).status, 404, 'but the request belongs to another browser');
  });

  t.test('a session in `cookie` mode counts, and its refresh token is not exchanged', async (t) => {
    const person = await visitor({}, 'cookie');
    await person.logIn();
    const before = person.jar.getCookieStringSync(url);
    const browser = createBrowser(url, person.jar, person.send);
    const tokens = await browser.signIn(config);
    t.equal(tokens.claims()?.sub, person.id);
    t.ok(person.jar.getCookieStringSync(url).includes(before), 'the cookie is the same');
    t.equal((await person.post('/auth/refresh', { mode: 'cookie' })).status, 200);
    t.ok((await browser.signIn(config)).id_token, 'after a refresh');

    await provider.request({
      method: 'PATCH',
      url: `/users/${person.id}`,
      headers: asAdmin,
      payload: { status: 'suspended' },
    });
    const refused = await person.follow(await urlFor({ prompt: 'none' }));
    t.equal(refused.back?.searchParams.get('error'), 'login_required');

    const other = await visitor({}, 'cookie');
    await other.logIn();
    await other.post('/auth/logout', { mode: 'cookie' });
    const after = await other.follow(await urlFor({ prompt: 'none' }));
    t.equal(after.back?.searchParams.get('error'), 'login_required', 'after a logout');

    const expired = await visitor({}, 'cookie');
    await expired.logIn();
    clock.advance(app.config.REFRESH_TOKEN_TTL + 1_000);
    const late = await expired.follow(await urlFor({ prompt: 'none' }));
    t.equal(late.back?.searchParams.get('error'), 'login_required', 'after it has expired');
  });

  t.test('`updated_at` says when the profile last changed', async (t) => {
    const person = await visitor({ firstName: 'Ada' });
    await person.logIn();
    const browser = createBrowser(url, person.jar, person.send);
    const scope = { scope: 'openid profile' };
    const setTime = (profileUpdatedAt: string | null) =>
      app.db
        .update(users)
        .set({ profileUpdatedAt: sql`${profileUpdatedAt}::timestamptz` })
        .where(eq(users.id, person.id));
    const claim = async () => (await browser.signIn(config, scope)).claims()?.updated_at;
    const change = async (payload: object) => {
      const response = await provider.request({
        method: 'PATCH',
        url: `/users/${person.id}`,
        headers: asAdmin,
        payload,
      });
      t.equal(response.statusCode, 200);
    };
    const isNow = (value: unknown) => Math.abs(Number(value) - Date.now() / 1_000) < 60;
    t.ok(isNow(await claim()), 'a new user');
    for (const payload of [
      { first_name: 'Grace' },
      { last_name: 'Hopper' },
      { language: 'de-DE' },
      { avatar: 'https://example.com/grace.png' },
    ]) {
      await setTime('2020-01-01T00:00:00Z');
      t.equal(await claim(), 1_577_836_800);
      await change({ ...payload, title: 'Rear admiral' });
      t.ok(isNow(await claim()), Object.keys(payload).join());
    }
    await setTime('2020-01-01T00:00:00Z');
    // As another build would write it. Through the API, this ends the session.
    await app.db.update(users).set({ email: 'grace@example.com' }).where(eq(users.id, person.id));
    t.ok(isNow(await claim()), 'the address');
    await setTime('2020-01-01T00:00:00Z');
    await change({ first_name: 'Grace', title: 'Professor' });
    const tokens = await browser.signIn(config, scope);
    t.equal(tokens.claims()?.updated_at, 1_577_836_800, 'nothing that applications learn has changed');
    t.match(await oidc.fetchUserInfo(config, tokens.access_token, person.id), { updated_at: 1_577_836_800 });
    await setTime(null);
    t.equal(await claim(), undefined, 'unknown for users who have not changed since the migration');
  });

  t.test('the metadata lists only claims that the service has', async (t) => {
    const { claims_supported: claims } = config.serverMetadata();
    for (const name of ['picture', 'updated_at']) t.ok(claims?.includes(name), name);
    for (const name of ['phone_number', 'address', 'gender']) t.notOk(claims?.includes(name), name);
  });
});
