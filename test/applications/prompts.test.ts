import * as oidc from 'openid-client';
import t from 'tap';
import { fails, redirectUri, startProvider } from '../helpers/applications/applications.js';
import { asAdmin, patch } from '../helpers/http/writing.js';
import { administrator } from '../helpers/users/credentials.js';

/** When an application gets what it asks for, and what the user has to do first. */
t.test('a request of an application', async (t) => {
  const provider = await startProvider(t);
  const { url, clock } = provider;
  const trusted = await provider.addClient();
  const another = { email: 'another@example.com', password: 'the password of another user' };
  await provider.post('/users', another, asAdmin);

  /** A user in a browser of their own, with a request of a client. */
  const begin = async (client: { id: string; secret: string }, parameters: Record<string, string>) => {
    const { fetch: send } = await provider.browser(administrator);
    const verifier = oidc.randomPKCECodeVerifier();
    const config = await provider.discover(client);
    const post = (path: string, body: object) =>
      send(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    /** Follows redirects to a page of the service, or to the client. */
    const follow = async (start: URL): Promise<URL> => {
      let next = start;
      for (let steps = 0; steps < 10 && next.origin === url; steps++) {
        const location = (await send(next, { redirect: 'manual' })).headers.get('location');
        if (location === null) return next;
        next = new URL(location, next);
      }
      return next;
    };
    let at = await follow(
      oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid email',
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...parameters,
      }),
    );
    const proceed = async () => {
      at = await follow(at);
    };
    return {
      isAsked: () => at.pathname.startsWith('/account/authorize/'),
      code: () => at.searchParams.get('code'),
      email: async () => {
        const tokens = await oidc.authorizationCodeGrant(config, at, { pkceCodeVerifier: verifier });
        return tokens.claims()?.email;
      },
      proceed,
      allow: async () => {
        const response = await post(at.pathname, { allow: true });
        if (!response.ok) return response.status;
        const { data } = (await response.json()) as { data: { redirect: string } };
        at = await follow(new URL(data.redirect, url));
        return response.status;
      },
      prove: async () => {
        clock.advance(2_000);
        const { status } = await post('/auth/reauthenticate', { password: administrator.password });
        await proceed();
        return status;
      },
      signInAs: async (user: { email: string; password: string }) => {
        clock.advance(2_000);
        const { status } = await post('/auth/login', { ...user, mode: 'session' });
        await proceed();
        return status;
      },
      signOut: async () => {
        await post('/account/sign-out', {});
        await proceed();
      },
    };
  };

  for (const prompt of ['login', 'login consent']) {
    t.test(`prompt=${prompt}: the user proves their identity once, and then gives consent`, async (t) => {
      for (const isTrusted of [true, false]) {
        const client = isTrusted ? trusted : await provider.addClient({ first_party: false });
        const request = await begin(client, { prompt });
        t.ok(request.isAsked());
        t.equal(await request.allow(), 403, 'consent is not enough');
        await request.proceed();
        t.ok(request.isAsked());
        t.equal(await request.prove(), 204);
        if (!isTrusted) {
          t.ok(request.isAsked());
          t.equal(await request.allow(), 200);
        }
        t.ok(request.code());
      }
    });
  }

  t.test('prompt=login: the user can also sign in as another user', async (t) => {
    const request = await begin(trusted, { prompt: 'login' });
    t.equal(await request.signInAs(another), 200);
    t.equal(await request.email(), another.email);
  });

  t.test('prompt=create: a user who is signed in must sign in again', async (t) => {
    const request = await begin(trusted, { prompt: 'create' });
    t.ok(request.isAsked());
    await request.proceed();
    t.ok(request.isAsked());
    t.equal(await request.signInAs(another), 200);
    t.ok(request.code());
  });

  t.test('consent: the user can change to another account', async (t) => {
    const request = await begin(await provider.addClient({ first_party: false }), {});
    await request.signOut();
    t.ok(request.isAsked());
    t.equal(await request.allow(), 403, 'nobody is signed in');
    t.equal(await request.signInAs(another), 200);
    t.equal(await request.allow(), 200);
    t.equal(await request.email(), another.email);
  });

  t.test('offline_access is ignored if the client may not have it, and nobody is asked forever', async (t) => {
    const orders = 'https://orders.example.com';
    await provider.addResource({ identifier: orders, scopes: ['orders:read'] });
    const browser = await provider.browser(administrator);
    for (const first_party of [true, false]) {
      const openId = await provider.discover(await provider.addClient({ first_party, scopes: ['openid', 'email'] }));
      const own = { scope: 'openid offline_access' };
      t.equal((await browser.signIn(openId, own)).scope, 'openid');
      t.equal((await browser.signIn(openId, { ...own, prompt: 'none' })).scope, 'openid', 'without a page');
      await fails(t, browser.signIn(openId, { ...own, prompt: 'consent' }), 'invalid_scope');

      const values = { first_party, scopes: ['orders:read'], resources: [orders] };
      const api = await provider.discover(await provider.addClient(values));
      const withApi = { scope: 'orders:read offline_access', resource: orders };
      t.equal((await browser.signIn(api, withApi)).scope, 'orders:read');
      t.equal((await browser.signIn(api, { ...withApi, prompt: 'none' })).scope, 'orders:read', 'without a page');
      await fails(t, browser.signIn(api, { ...withApi, prompt: 'consent' }), 'invalid_scope');
    }
  });

  t.test('a first-party client needs no consent, even if it loses a scope while the user signs in', async (t) => {
    const client = await provider.addClient();
    const request = await begin(client, { prompt: 'login', scope: 'openid email offline_access' });
    t.ok(request.isAsked());
    await patch(provider, `/clients/${client.id}`, { scopes: ['openid'] });
    t.equal(await request.prove(), 204);
    t.ok(request.code());
    t.equal(await request.email(), undefined);
  });
});
