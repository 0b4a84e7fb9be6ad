// @suite postgres-only: several instances use one database

import t from 'tap';
import { buildApp } from '../../app.js';
import { startProvider } from '../helpers/applications/applications.js';
import { asAdmin } from '../helpers/http/writing.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { testConfig } from '../helpers/service/app.js';

/** What ends the tokens of an application does so on the next request to any instance, although both instances have just used them. */
t.test('what ends the tokens of an application ends them on every instance', async (t) => {
  const provider = await startProvider(t);
  const { url, app, clock, database } = provider;
  const elsewhere = await buildApp(testConfig({ PUBLIC_URL: url }), { clock: clock.now, database: database.location });
  atEndOf(t, () => elsewhere.close());
  await elsewhere.ready();
  const client = await provider.addClient({ first_party: false });
  const config = await provider.discover(client);
  let users = 0;

  const begin = async () => {
    const user = { email: `user${++users}@example.com`, password: 'the password of a user' };
    const { data } = (await provider.post('/users', user, asAdmin)).json();
    const browser = await provider.browser(user);
    const tokens = await browser.signIn(config, { scope: 'openid offline_access', prompt: 'consent' });
    return { id: data.id as string, browser, access: tokens.access_token, refresh: tokens.refresh_token ?? '' };
  };
  type Started = Awaited<ReturnType<typeof begin>>;

  const authorization = `Basic ${btoa(`${client.id}:${client.secret}`)}`;
  const form = (instance: typeof app, path: string, values: Record<string, string>) =>
    instance.inject({
      method: 'POST',
      url: `/oauth/${path}`,
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      payload: String(new URLSearchParams(values)),
    });
  const worksAt = async (instance: typeof app, { access, refresh }: Started) => {
    const userinfo = await instance.inject({ url: '/oauth/userinfo', headers: { authorization: `Bearer ${access}` } });
    const introspected = await form(instance, 'introspect', { token: access });
    const refreshed = await form(instance, 'token', { grant_type: 'refresh_token', refresh_token: refresh });
    return {
      userinfo: userinfo.statusCode === 200,
      introspection: introspected.json().active as boolean,
      refresh: refreshed.statusCode === 200,
    };
  };
  const asAdministrator = async (method: 'PATCH' | 'DELETE', path: string, payload?: object) => {
    const { statusCode } = await app.inject({ method, url: path, headers: asAdmin, ...(payload ? { payload } : {}) });
    if (statusCode >= 300) throw new Error(`${path} returned ${statusCode}`);
  };

  const endings: Record<string, (started: Started) => Promise<unknown>> = {
    suspension: ({ id }) => asAdministrator('PATCH', `/users/${id}`, { status: 'suspended' }),
    deletion: ({ id }) => asAdministrator('DELETE', `/users/${id}`),
    'a new password': ({ id }) => asAdministrator('PATCH', `/users/${id}`, { password: 'another password of a user' }),
    logout: ({ browser }) => browser.fetch(`${url}/account/sign-out`, { method: 'POST' }),
    'a withdrawn grant': async ({ browser }) => {
      const list = await browser.fetch(`${url}/users/me/grants`);
      const { data } = (await list.json()) as { data: { id: string }[] };
      await browser.fetch(`${url}/users/me/grants/${data[0]?.id}`, { method: 'DELETE' });
    },
    'the end of the client': () => asAdministrator('DELETE', `/clients/${client.id}`),
  };
  for (const [name, end] of Object.entries(endings)) {
    t.test(name, async (t) => {
      const started = await begin();
      for (const instance of [app, elsewhere]) {
        t.strictSame(await worksAt(instance, started), { userinfo: true, introspection: true, refresh: true });
      }
      await end(started);
      for (const instance of [elsewhere, app]) {
        const { userinfo, introspection, refresh } = await worksAt(instance, started);
        t.strictSame([userinfo, introspection ?? false, refresh], [false, false, false]);
      }
    });
  }
});
