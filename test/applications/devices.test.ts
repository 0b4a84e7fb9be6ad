import { decodeJwt } from 'jose';
import * as oidc from 'openid-client';
import t from 'tap';
import { startProvider } from '../helpers/applications/applications.js';
import { asAdmin, patch } from '../helpers/http/writing.js';
import { checkedFetch } from '../helpers/openapi/document.js';
import { administrator } from '../helpers/users/credentials.js';
import { currentCode, rfcSecret } from '../helpers/users/totp.js';
import { createUser } from '../helpers/users/users.js';

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
  const enter = (user_code: string, allow?: boolean, { fetch: send } = browser) =>
    send(`${url}/account/device`, {
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

  t.test('only after a sign-in that is as recent as the device requires', async (t) => {
    const { email } = administrator;
    const asking = (max_age: string) => oidc.initiateDeviceAuthorization(config, { scope: 'openid', max_age });
    const own = await provider.browser(administrator);
    clock.advance(60_000);
    for (const [maxAge, status] of [
      ['0', 422],
      ['30', 422],
      ['3600', 200],
    ] as const) {
      const { user_code: code } = await asking(maxAge);
      t.equal((await enter(code, undefined, own)).status, status, `max_age=${maxAge}`);
      if (status === 200) continue;
      t.equal((await enter(code, true, own)).status, status, `a decision with max_age=${maxAge}`);
      clock.advance(1_000);
      const again = await provider.browser(administrator);
      t.equal((await enter(code, undefined, again)).status, 200, `${email} has signed in since then`);
    }
    const declined = await asking('30');
    t.equal((await enter(declined.user_code, false, own)).status, 204, 'declining requires nothing');
  });

  t.test('only after a sign-in with a second factor, if the device requires one', async (t) => {
    const required = { scope: 'openid', acr_values: 'urn:gatehouse:mfa' };
    const request = await oidc.initiateDeviceAuthorization(config, required);
    const refused = await enter(request.user_code);
    t.equal(refused.status, 422);
    t.match(await refused.json(), { errors: [{ extensions: { reason: /second factor/ } }] });
    t.equal((await enter(request.user_code, true)).status, 422);
    t.equal((await poll(request.device_code)).error, 'authorization_pending');

    const { email, password } = await createUser(provider.app, { tfa: true });
    const otp = currentCode(rfcSecret.base32, clock.now());
    const strong = await provider.browser({ email, password, otp });
    t.equal((await enter(request.user_code, undefined, strong)).status, 200);
    t.equal((await enter(request.user_code, true, strong)).status, 204);
    const { id_token: idToken = '' } = await poll(request.device_code);
    t.match(decodeJwt(idToken), { acr: 'urn:gatehouse:mfa' });

    const voluntary = await oidc.initiateDeviceAuthorization(config, { ...required, acr_values: 'another' });
    t.equal((await enter(voluntary.user_code, true)).status, 204, 'other values are ignored');
  });

  t.test('a device that asks too often has to slow down', async (t) => {
    const { device_code: code } = await start();
    await poll(code);
    const body = new URLSearchParams({ grant_type: deviceGrant, device_code: code, client_id: client.id });
    t.match(await (await checkedFetch(`${url}/oauth/token`, { method: 'POST', body })).json(), { error: 'slow_down' });
  });

  let users = 0;
  /** Creates a user, and opens a browser in which they are signed in. */
  const newUser = async () => {
    const user = { email: `user${++users}@example.com`, password: 'the password of a user' };
    await provider.post('/users', user, asAdmin);
    return provider.browser(user);
  };
  /** The statuses of wrong codes, until one is refused without being looked up. */
  const guess = async (by: typeof browser) => {
    const statuses: number[] = [];
    // Whether or not they come with a decision.
    while (statuses.length < 40 && !statuses.includes(429))
      statuses.push((await enter('BBBB-BBBB', statuses.length % 2 === 0 ? true : undefined, by)).status);
    return statuses;
  };
  const wrong = (count: number) => [...Array<number>(count).fill(403), 429];

  t.test('wrong codes are counted for each user and address', async (t) => {
    const { user_code: own } = await start();
    const [guesser, other] = [await newUser(), await newUser()];
    for (let times = 0; times < 30; times++)
      if ((await enter(own, undefined, guesser)).status !== 200) t.fail('a correct code was refused');
    t.strictSame(await guess(guesser), wrong(25));
    const refused = await enter(own, undefined, guesser);
    t.equal(refused.status, 429, 'a correct code is refused meanwhile');
    t.equal(refused.headers.get('retry-after'), '30');
    t.equal((await enter(own, undefined, other)).status, 200, 'other users at the same address are not affected');
    clock.advance(31_000);
    t.equal((await enter(own, undefined, guesser)).status, 200);
    // Attackers can request codes themselves.
    t.strictSame(await guess(guesser), wrong(1), 'a correct code does not reset the count');
  });

  t.test('the limit is that of wrong passwords', async (t) => {
    await patch(provider, '/settings', { auth_login_attempts: 5 });
    t.strictSame(await guess(await newUser()), wrong(5));
    await patch(provider, '/settings', { auth_login_attempts: null });
    t.strictSame(await guess(await newUser()), wrong(25), 'it cannot be turned off');
    await patch(provider, '/settings', { auth_login_attempts: 25 });
  });

  t.test('parallel guesses gain nothing', async (t) => {
    const { user_code: right } = await start();
    const guesser = await newUser();
    const guesses = Array.from({ length: 40 }, (_, index) => (index === 30 ? right : 'BBBB-BBBB'));
    const statuses = await Promise.all(guesses.map(async (code) => (await enter(code, undefined, guesser)).status));
    const checked = statuses.filter((status) => status !== 429).length;
    // A correct code that is among those that are checked is withdrawn from the count, which makes room for another guess.
    t.ok(checked <= 26, `${statuses}`);
    t.equal((await enter(right, undefined, guesser)).status, 429);
  });
});
