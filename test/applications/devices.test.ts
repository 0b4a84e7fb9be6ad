import * as oidc from 'openid-client';
import t from 'tap';
import { startProvider } from '../helpers/applications/applications.js';
import { checkedFetch } from '../helpers/openapi/document.js';
import { administrator } from '../helpers/users/credentials.js';

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

t.test('a user connects a device with a code', async (t) => {
  const provider = await startProvider(t);
  const { url, clock } = provider;
  const client = await provider.addClient({
    type: 'public',
    grant_types: [deviceGrant, 'refresh_token'],
    redirect_uris: [],
  });
  const config = await provider.discover(client);
  const browser = await provider.browser(administrator);
  const start = () => oidc.initiateDeviceAuthorization(config, { scope: 'openid offline_access' });
  const poll = async (code: string) => {
    clock.advance(6_000);
    const body = new URLSearchParams({ grant_type: deviceGrant, device_code: code, client_id: client.id });
    return (await checkedFetch(`${url}/oauth/token`, { method: 'POST', body })).json() as Promise<
      Record<string, string>
    >;
  };
  const enter = (user_code: string, allow?: boolean) =>
    browser.fetch(`${url}/account/device`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ user_code, allow }),
    });

  t.test('after the user has allowed it', async (t) => {
    const request = await start();
    t.match(request.user_code, /^[A-Z]{4}-[A-Z]{4}$/);
    t.match(request, { interval: 5, verification_uri: `${url}/account/device` });
    t.equal((await poll(request.device_code)).error, 'authorization_pending');
    const typed = request.user_code.toLowerCase().replace('-', ' ');
    t.match(await (await enter(typed)).json(), { data: { client: 'An app', host: null } });
    t.equal((await enter(typed, true)).status, 204);
    const tokens = await poll(request.device_code);
    t.match(tokens, { access_token: String, id_token: String, refresh_token: String });
    t.equal((await poll(request.device_code)).error, 'invalid_grant', 'a code is used once');
    t.equal((await enter(typed, true)).status, 403, 'nobody decides twice');
  });

  t.test('not after the user has declined it', async (t) => {
    const request = await start();
    t.equal((await enter(request.user_code, false)).status, 204);
    t.equal((await poll(request.device_code)).error, 'access_denied');
  });

  t.test('a device that asks too often has to slow down', async (t) => {
    const { device_code: code } = await start();
    await poll(code);
    const body = new URLSearchParams({ grant_type: deviceGrant, device_code: code, client_id: client.id });
    t.match(await (await checkedFetch(`${url}/oauth/token`, { method: 'POST', body })).json(), { error: 'slow_down' });
  });

  t.test('wrong codes are counted, whether or not they come with a decision', async (t) => {
    const { user_code: own } = await start();
    const statuses: number[] = [];
    for (let guess = 0; guess < 12; guess++) {
      statuses.push((await enter('BBBB-BBBB', guess % 2 === 0 ? true : undefined)).status);
      // Entering a valid code does not reset the count, because attackers can request codes themselves.
      if (guess < 5) t.equal((await enter(own)).status, 200);
    }
    t.ok(statuses.includes(429), `${statuses}`);
    t.equal((await enter(own)).status, 429, 'a correct code does not help either');
  });
});
