// @suite everyday-on-embedded: the embedded database must survive a kill, too

import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import t from 'tap';
import { startLogoutReceiver } from '../helpers/applications/logout-receiver.js';
import {
  type ApplicationWorld,
  createApplicationCalls,
  createApplicationLedger,
  flowCount,
  redirectUri,
  runApplicationClients,
} from '../helpers/load/application-clients.js';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, startService } from '../helpers/service/service.js';
import { userPassword } from '../helpers/users/credentials.js';
import { asAdministrator, variables } from '../helpers/users/over-http.js';

/** `npm run test:kills` runs 50 kills. */
const kills = Number(process.env.KILLS ?? 3);
const api = 'https://api.example.com';

t.test(
  `after ${kills} × kill -9, no code or token of an application works twice, and nobody is locked out`,
  async (t) => {
    const home = await createHome(t, { prepared: true });
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const receiver = await startLogoutReceiver(t);
    const settings = {
      ...variables,
      PUBLIC_URL: url,
      PORT: String(port),
      WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true',
      SESSIONS_PER_USER: '10000',
      // On a slow machine, a start may take longer than the default grace period, so a repeated refresh would count as reuse of a stolen token.
      SESSION_REFRESH_GRACE_PERIOD: '60s',
    };
    let service = await startService(home, settings);
    const call = await asAdministrator(service);
    await call('POST', '/resources', {
      identifier: api,
      name: 'An API',
      scopes: ['orders:read'],
      access_token_ttl: '1d',
    });
    const users = Array.from({ length: flowCount }, (_, number) => ({
      email: `user-${number}@example.com`,
      password: userPassword,
    }));
    await call('POST', '/users', users);
    const client = (await call('POST', '/clients', {
      name: 'An app',
      type: 'confidential',
      first_party: true,
      redirect_uris: [redirectUri],
      resources: [api],
      access_token_ttl: '1d',
      backchannel_logout_uri: receiver.uri,
      grant_types: [
        'authorization_code',
        'refresh_token',
        'client_credentials',
        'urn:ietf:params:oauth:grant-type:device_code',
        'urn:ietf:params:oauth:grant-type:token-exchange',
      ],
    })) as { id: string; secret: string };

    let isOver = false;
    const ledger = createApplicationLedger();
    const world: ApplicationWorld = { url, client, resource: api, users, ledger, isOver: () => isOver };
    const clients = runApplicationClients(world);
    for (let kill = 0; kill < kills; kill++) {
      const before = ledger.answered;
      await sleep(100 + ((kill * 137) % 900));
      // On a slow machine, few requests may have been answered so far.
      while (ledger.answered < before + 30) await sleep(20);
      await service.stop('SIGKILL');
      service = await startService(home, settings);
      t.comment(
        `${kill + 1} of ${kills} kills, ${ledger.answered} requests answered, ${ledger.lost} without a response`,
      );
    }
    await sleep(500);
    isOver = true;
    await clients;
    t.comment(JSON.stringify(ledger.done));
    t.strictSame(ledger.wrong, [], 'every valid request was accepted, and no other');
    for (const flow of ['codes', 'refreshes', 'pushed requests', 'revocations', 'logouts', 'exchanges'])
      t.ok((ledger.done[flow] ?? 0) > 0, flow);

    const calls = createApplicationCalls(world);
    const wrong = { active: 0, inactive: 0 };
    for (const { token, isActive } of ledger.accessTokens) {
      const { body } = await calls.form('introspect', { token });
      if (body.active !== isActive) wrong[body.active ? 'active' : 'inactive']++;
    }
    t.strictSame(wrong, { active: 0, inactive: 0 }, 'every access token is in the state that its client knows');
    for (const token of ledger.refreshTokens) {
      const { status, body } = await calls.form('token', { grant_type: 'refresh_token', refresh_token: token });
      t.equal(status, 200, `the current refresh token works: ${body?.error}`);
    }
    // A device must wait between two polls.
    await sleep(5_000);
    for (const { what, form } of ledger.used) {
      const { status, body } = await calls.form('token', form);
      if (status !== 400 || body.error !== 'invalid_grant') t.fail(`${what} works again: ${JSON.stringify(body)}`);
    }
    const isNotified = () => {
      const sessions = new Set(receiver.tokens.map((token) => decodeJwt(token).sid));
      return ledger.endedSessions.filter((session) => !sessions.has(session));
    };
    // On PostgreSQL, a notification that was being sent waits for a minute, because another process might be sending it.
    for (const end = performance.now() + 180_000; isNotified().length > 0 && performance.now() < end; )
      await sleep(250);
    t.strictSame(isNotified(), [], 'the client was notified of every logout');
    t.comment(
      `${ledger.used.length} used codes and tokens, ${ledger.accessTokens.length} access tokens, ${ledger.endedSessions.length} logouts`,
    );
    t.strictSame(await service.stop(), { code: 0, signal: null });
  },
);
