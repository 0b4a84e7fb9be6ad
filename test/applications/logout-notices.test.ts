import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { eq, sql } from 'drizzle-orm';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as oidc from 'openid-client';
import t, { type Test } from 'tap';
import { buildApp } from '../../app.js';
import { deleteExpiredSessions } from '../../db/queries/sessions/sessions.js';
import { sessionClients } from '../../db/schema.js';
import { rows } from '../../db/statements.js';
import { startProvider } from '../helpers/applications/applications.js';
import { startLogoutReceiver, verifyLogoutToken } from '../helpers/applications/logout-receiver.js';
import { engine, schemas } from '../helpers/database/databases.js';
import { asAdmin } from '../helpers/http/writing.js';
import { listen } from '../helpers/servers/ports.js';
import { testConfig } from '../helpers/service/app.js';
import { collectLog } from '../helpers/service/collect-log.js';

/** A service, an application that wants to know when sessions end, and users who sign in to it. */
async function start(t: Test, variables: Record<string, string>) {
  const log = collectLog('info');
  const provider = await startProvider(t, variables, { logger: log.logger });
  const receiver = await startLogoutReceiver(t, '?key=a-secret-of-the-application');
  const client = await provider.addClient({ backchannel_logout_uri: receiver.uri });
  const config = await provider.discover(client);
  const asAdministrator = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const response = await provider.request({ method, url, headers: asAdmin, ...(payload ? { payload } : {}) });
    if (response.statusCode >= 300) throw new Error(`${method} ${url}: ${response.body}`);
    return response;
  };
  let users = 0;
  /** Signs a new user in to the application. */
  const begin = async (parameters: Record<string, string> = {}, application = config) => {
    const credentials = { email: `user${++users}@example.com`, password: 'the password of a user' };
    const { data } = (await asAdministrator('POST', '/users', credentials)).json();
    const browser = await provider.browser(credentials);
    const tokens = await browser.signIn(application, parameters);
    const session = String(tokens.claims()?.sid);
    const send = async (method: string, path: string, body?: object) => {
      const headers = body ? { 'content-type': 'application/json' } : {};
      const options = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
      const response = await browser.fetch(`${provider.url}${path}`, options);
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return response;
    };
    return { user: data.id as string, credentials, browser, tokens, session, send };
  };
  const { sendNow } = provider.app.openIdProvider.logoutNotices;
  /** Waits until the background worker, which may be faster, has sent everything. */
  const deliver = async (count: number) => {
    for (let tries = 0; receiver.tokens.length < count && tries < 200; tries++) {
      await sendNow();
      if (receiver.tokens.length < count) await sleep(20);
    }
  };
  const jobs = () =>
    rows<{ state: string; reason: string | null }>(
      provider.app.db,
      sql`select state, output ->> 'reason' as reason from ${sql.raw(schemas.queue)}.job where name = 'logout' order by created_on`,
    );
  const waitForFailure = async (count = 1) => {
    for (let tries = 0; ; tries++) {
      await sendNow();
      const failed = (await jobs()).filter(({ state }) => state === 'retry');
      if (failed.length === count || tries === 200) return failed;
      await sleep(20);
    }
  };
  return { provider, receiver, client, config, asAdministrator, begin, deliver, jobs, waitForFailure, log };
}

t.test('applications are notified when a session ends', async (t) => {
  // The receivers of the tests are on this machine.
  const variables = { WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' };
  const started = await start(t, variables);
  const { provider, receiver, client, config, asAdministrator, begin, deliver, jobs, waitForFailure, log } = started;
  const { app, url, clock } = provider;
  type Started = Awaited<ReturnType<typeof begin>>;

  t.test('the metadata says so, and ID tokens contain the ID of the session', async (t) => {
    const metadata = config.serverMetadata();
    t.match(metadata, { backchannel_logout_supported: true, backchannel_logout_session_supported: true });
    const { tokens, session, send } = await begin({ scope: 'openid offline_access' });
    const { data } = (await (await send('GET', '/users/me/sessions')).json()) as { data: { id: string }[] };
    t.strictSame(
      data.map(({ id }) => id),
      [session],
    );
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '');
    t.equal(refreshed.claims()?.sid, session);
  });

  const endings: Record<string, (started: Started) => Promise<unknown>> = {
    'signing out': ({ send }) => send('POST', '/account/sign-out'),
    'a request of the application': ({ browser, tokens }) =>
      browser.fetch(oidc.buildEndSessionUrl(config, { id_token_hint: tokens.id_token ?? '' })),
    'revocation by the user': async ({ credentials, session }) => {
      const elsewhere = await provider.browser(credentials);
      await elsewhere.fetch(`${url}/users/me/sessions/${session}`, { method: 'DELETE' });
    },
    'revocation of all other sessions': async ({ credentials }) => {
      const elsewhere = await provider.browser(credentials);
      await elsewhere.fetch(`${url}/users/me/sessions`, { method: 'DELETE' });
    },
    'a new password': async ({ credentials }) => {
      const elsewhere = await provider.browser(credentials);
      const body = { current_password: credentials.password, password: 'another password of a user' };
      await elsewhere.fetch(`${url}/users/me/password`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    },
    'revocation by an administrator': ({ user, session }) =>
      asAdministrator('DELETE', `/users/${user}/sessions/${session}`),
    'revocation of all sessions by an administrator': ({ user }) =>
      asAdministrator('DELETE', `/users/${user}/sessions`),
    'a password that an administrator sets': ({ user }) =>
      asAdministrator('PATCH', `/users/${user}`, { password: 'another password of a user' }),
    suspension: ({ user }) => asAdministrator('PATCH', `/users/${user}`, { status: 'suspended' }),
    deletion: ({ user }) => asAdministrator('DELETE', `/users/${user}`),
    'a statement in the database': ({ session }) => rows(app.db, sql`delete from sessions where id = ${session}::uuid`),
  };
  for (const [name, end] of Object.entries(endings)) {
    t.test(name, async (t) => {
      const started = await begin();
      const before = receiver.tokens.length;
      await end(started);
      await deliver(before + 1);
      t.equal(receiver.tokens.length, before + 1);
      const claims = await verifyLogoutToken(receiver.tokens.at(-1) ?? '', url, client.id);
      t.match(claims, { sub: started.user, sid: started.session, jti: /^[0-9a-f-]{36}$/ });
      t.equal((claims.exp ?? 0) - (claims.iat ?? 0), 120);
    });
  }

  t.test('with the algorithm of each client, and once for each client', async (t) => {
    const receivers = [await startLogoutReceiver(t), await startLogoutReceiver(t)];
    const algorithms = ['ES256', 'EdDSA'];
    const started = await begin();
    const ids: string[] = [];
    for (const [index, each] of receivers.entries()) {
      const added = await provider.addClient({
        backchannel_logout_uri: each.uri,
        id_token_signed_response_alg: algorithms[index],
        minimal_id_token: true,
      });
      ids.push(added.id);
      const other = await provider.discover(added);
      const tokens = await started.browser.signIn(other);
      t.equal(tokens.claims()?.sid, started.session);
      await started.browser.signIn(other);
    }
    await started.send('POST', '/account/sign-out');
    for (let tries = 0; receivers.some(({ tokens }) => tokens.length === 0) && tries < 200; tries++) {
      await app.openIdProvider.logoutNotices.sendNow();
      await sleep(20);
    }
    for (const [index, { tokens }] of receivers.entries()) {
      t.equal(tokens.length, 1);
      t.match(await verifyLogoutToken(tokens[0] ?? '', url, ids[index] ?? ''), { sid: started.session });
      t.equal(decodeProtectedHeader(tokens[0] ?? '').alg, algorithms[index]);
    }
  });

  t.test('but neither when it merely expires, nor if they have no tokens of it', async (t) => {
    const { browser, session } = await begin();
    const unused = await startLogoutReceiver(t);
    await provider.addClient({ backchannel_logout_uri: unused.uri });
    const formerly = await provider.addClient({ backchannel_logout_uri: unused.uri });
    await browser.signIn(await provider.discover(formerly));
    const before = receiver.tokens.length;
    const isOfSession = eq(sessionClients.sid, session);
    t.equal((await app.db.select().from(sessionClients).where(isOfSession)).length, 2);
    clock.advance(app.config.SESSION_COOKIE_TTL + 86_400_000);
    await deleteExpiredSessions(app.db, clock.now(), null);
    t.strictSame(await app.db.select().from(sessionClients).where(isOfSession), []);
    t.equal(await app.openIdProvider.logoutNotices.sendNow(), 0);
    t.equal(receiver.tokens.length, before);

    const other = await begin();
    await other.browser.signIn(await provider.discover(formerly));
    await asAdministrator('PATCH', `/clients/${formerly.id}`, { backchannel_logout_uri: null });
    await other.send('POST', '/account/sign-out');
    await deliver(before + 1);
    t.strictSame(unused.tokens, []);
  });

  t.test('later, if an application is unavailable, and the log contains no secret', async (t) => {
    receiver.tokens.length = 0;
    const makeDue = () =>
      rows(
        provider.app.db,
        sql`update ${sql.raw(schemas.queue)}.job set start_after = now() where name = 'logout' and state = 'retry'`,
      );
    await receiver.close();
    const { session, send, tokens } = await begin();
    const start_ = performance.now();
    await send('POST', '/account/sign-out');
    t.ok(performance.now() - start_ < 2_000, 'no request waits for the application');
    t.match(await waitForFailure(), [{ reason: /ECONNREFUSED/ }]);
    await receiver.open();
    receiver.status = 500;
    await makeDue();
    await deliver(1);
    t.match(await waitForFailure(), [{ reason: 'The application returned 500.' }]);
    receiver.status = 204;
    await makeDue();
    await deliver(2);
    t.match(await verifyLogoutToken(receiver.tokens[1] ?? '', provider.url, client.id), { sid: session });
    const ids = receiver.tokens.map((token) => decodeJwt(token).jti);
    t.not(ids[0], ids[1]);
    for (let tries = 0; (await jobs()).some(({ state }) => state !== 'completed') && tries < 200; tries++)
      await sleep(20);
    t.strictSame([...new Set((await jobs()).map(({ state }) => state))], ['completed']);

    const written = JSON.stringify(log.lines);
    t.match(written, 'an application could not be notified of a logout');
    t.match(written, client.id);
    for (const secret of [...receiver.tokens, tokens.access_token, tokens.id_token ?? '', client.secret, 'a-secret-of'])
      t.notOk(written.includes(secret));
  });

  t.test('promptly, if others do not respond', async (t) => {
    // Two applications on one server, which accepts requests and never responds.
    const held = new Set<ServerResponse>();
    let requests = 0;
    let most = 0;
    const server = createServer((_request, response) => {
      requests++;
      held.add(response);
      most = Math.max(most, held.size);
      response.on('close', () => held.delete(response));
    });
    const port = await listen(server);
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    const hanging = await Promise.all(
      ['a', 'b'].map(async (path) => {
        const added = await provider.addClient({ backchannel_logout_uri: `http://127.0.0.1:${port}/${path}` });
        return provider.discover(added);
      }),
    );
    const stuck = await Promise.all(Array.from({ length: 24 }, (_, index) => begin({}, hanging[index % 2])));
    const prompt = await begin();
    receiver.tokens.length = 0;
    await Promise.all(stuck.map(({ send }) => send('POST', '/account/sign-out')));
    for (let tries = 0; requests === 0 && tries < 200; tries++) await sleep(20);
    await prompt.send('POST', '/account/sign-out');
    for (let tries = 0; receiver.tokens.length === 0 && tries < 1_000; tries++) await sleep(20);
    t.match(await verifyLogoutToken(receiver.tokens[0] ?? '', url, client.id), { sid: prompt.session });
    t.equal(most, 2, 'requests to the server at the same time');
    t.ok(requests <= 4, `before the notification, ${requests} requests to the server could time out`);
    // For the tests that follow.
    await rows(app.db, sql`delete from ${sql.raw(schemas.queue)}.job where name = 'logout' and state < 'active'`);
  });

  t.test(
    'once, if two instances share a database',
    { skip: engine !== 'postgres' && 'requires a database server' },
    async (t) => {
      const config = testConfig({ PUBLIC_URL: url, ...variables });
      const twin = await buildApp(config, { clock: clock.now, database: provider.database.location });
      t.teardown(() => twin.close());
      await twin.ready();
      receiver.tokens.length = 0;
      const all = await Promise.all(Array.from({ length: 8 }, () => begin()));
      await Promise.all(all.map(({ send }) => send('POST', '/account/sign-out')));
      for (let tries = 0; receiver.tokens.length < 8 && tries < 100; tries++) {
        await Promise.all([app, twin].map(({ openIdProvider }) => openIdProvider.logoutNotices.sendNow()));
      }
      await sleep(500);
      const sids = receiver.tokens.map((token) => decodeJwt(token).sid);
      t.strictSame(sids.sort(), all.map(({ session }) => session).sort());
    },
  );
});

t.test('the service connects only to public addresses and, in production, only with https', async (t) => {
  const { provider, receiver, begin, waitForFailure } = await start(t, { NODE_ENV: 'production' });
  const client = await provider.addClient({ backchannel_logout_uri: receiver.uri.replace('http:', 'https:') });
  const { browser, send } = await begin();
  await browser.signIn(await provider.discover(client));
  await send('POST', '/account/sign-out');
  const reasons = (await waitForFailure(2)).map(({ reason }) => reason).sort();
  t.match(reasons, [/the address 127\.0\.0\.1 is not allowed/, /only https is allowed/]);
  t.strictSame(receiver.tokens, []);
});
