// @suite not-everyday: starts many processes

import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { engine, schemas } from '../helpers/database/databases.js';
import {
  canTrack,
  type PgBouncer,
  pgBouncerVersion,
  startPgBouncer,
  withoutPgBouncer,
} from '../helpers/database/pgbouncer.js';
import { askStored, verifyAuditLog } from '../helpers/database/stored.js';
import { linkIn } from '../helpers/mail/mails.js';
import { bearer } from '../helpers/service/app.js';
import { runCommand } from '../helpers/service/command.js';
import { healthIsFresh, password, recovers, variables } from '../helpers/service/outage.js';
import {
  createHome,
  type Home,
  logIn,
  refusedService,
  type Service,
  startService,
} from '../helpers/service/service.js';
import { claimsOf } from '../helpers/users/sessions.js';

const skip = engine === 'embedded' ? 'PostgreSQL only' : withoutPgBouncer;
/** Connections to PostgreSQL: far fewer than two services open to PgBouncer. */
const poolSize = 2;
const people = 12;
const token = 'the-static-token-of-the-administrator';
const admin = { authorization: `Bearer ${token}` };

t.comment(`PgBouncer ${pgBouncerVersion}`);

t.test('the service works behind PgBouncer with fewer connections than the instances need', { skip }, async (t) => {
  const home = await createHome(t);
  const bouncer = await startPgBouncer(t, home, { default_pool_size: String(poolSize) });
  // All instances start by creating the tables, and share these few connections.
  const pair = await Promise.all([startBehind(home, bouncer), startBehind(home, bouncer), startBehind(home, bouncer)]);
  const [one, other] = pair as unknown as [Service, Service];

  await t.test('all kinds of requests and emails work simultaneously on both instances', async (t) => {
    await send(one, 'PATCH', '/settings', admin, { public_registration: true });
    const watch = watchConnections(home, bouncer);
    await Promise.all(
      Array.from({ length: people }, (_, number) =>
        // Consecutive steps use different instances.
        number % 2 === 0 ? journey(t, number, one, other) : journey(t, number, other, one),
      ),
    );
    const { most, mostWaiting } = await watch.end();
    t.ok(most <= poolSize, `${most} connections to PostgreSQL at most`);
    t.ok(mostWaiting > 0, `up to ${mostWaiting} clients waited for a connection`);
  });

  await t.test('no work was lost or done twice', async (t) => {
    const [found] = await askStored(
      home,
      `select (select count(*)::int from users where email like 'somebody-%' and status = 'active') as users,
        (select count(*)::int from sessions join users u on u.id = "user" where email like 'somebody-%') as sessions`,
    );
    t.strictSame(found, { users: people, sessions: people });
    // The test has not waited for the last emails, which report new passwords.
    let mails = await mailJobs(home);
    for (let tries = 0; tries < 200 && mails.left > 0; tries++, mails = await mailJobs(home)) await sleep(100);
    t.strictSame(mails, { done: 3 * people, left: 0 });
  });

  await t.test('no session of PostgreSQL keeps any state for its next user', async (t) => {
    const sessions = await inEverySession(
      bouncer,
      `select pg_backend_pid() as pid, current_setting('synchronous_commit') as synchronous_commit,
        current_setting('lock_timeout') as lock_timeout, current_setting('search_path') as search_path,
        (select count(*)::int from pg_listening_channels()) as channels,
        (select count(*)::int from pg_locks where pid = pg_backend_pid() and locktype = 'advisory') as locks,
        (select count(*)::int from pg_prepared_statements) as prepared`,
    );
    const [direct] = await askStored(
      home,
      `select current_setting('synchronous_commit') as synchronous_commit, current_setting('lock_timeout') as lock_timeout,
        current_setting('search_path') as search_path`,
    );
    t.equal(new Set(sessions.map(({ pid }) => pid)).size, poolSize);
    for (const { pid, prepared, ...session } of sessions) {
      t.strictSame(session, { ...direct, channels: 0, locks: 0 }, `session ${pid}`);
      // PgBouncer tracks these if its version supports it.
      if (canTrack) t.ok(Number(prepared) > 10 && Number(prepared) <= 200, `${prepared} prepared statements`);
      else t.ok(Number(prepared) <= 3, `${prepared} prepared statements`);
    }
  });

  await t.test('the commands work through PgBouncer, too', async (t) => {
    const own = { DATABASE_URL: bouncer.url.href };
    t.match(await verifyAuditLog(home, [], own), { code: 0 });
    t.match(await runCommand(home, 'keys-rotate', [], { ...own, ACCESS_TOKEN_ALGORITHM: 'EdDSA' }), { code: 0 });
  });

  await t.test('the service recovers when PgBouncer is killed and restarted', async (t) => {
    const { body } = await logIn(one, password);
    const caller = bearer(body.data.access_token);
    await bouncer.kill();
    for (const service of pair) t.equal((await service.get('/users/me', caller)).status, 503);
    await bouncer.start();
    for (const service of pair) await recovers(t, service, caller);
  });

  await t.test('the service recovers when PostgreSQL ends all sessions', async (t) => {
    const { body } = await logIn(one, password);
    const caller = bearer(body.data.access_token);
    await askStored(
      home,
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
    );
    for (const service of pair) await recovers(t, service, caller);
  });

  await t.test('a statement that takes too long is canceled in PostgreSQL', async (t) => {
    const limited = await startService(home, {
      ...variables,
      DATABASE_URL: bouncer.url.href,
      QUERY_TIMEOUT: '1s',
    });
    const sql = postgres(String(home.variables.DATABASE_URL), { max: 1, onnotice: () => {} });
    await sql.begin(async (tx) => {
      await tx`lock table identities in access exclusive mode`;
      const start = performance.now();
      t.equal((await limited.get('/users/me/identities', admin)).status, 503);
      t.ok(performance.now() - start < 4_000, `after ${Math.round(performance.now() - start)} ms`);
      const [found] = await tx`select count(*)::int as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      t.equal(found?.count, 0, 'no statement is waiting');
    });
    await sql.end();
    t.equal((await limited.get('/users/me/identities', admin)).status, 200);
    t.strictSame(await limited.stop(), { code: 0, signal: null });
  });

  await t.test('no request waits long when all connections are in use', async (t) => {
    const { body } = await logIn(one, password);
    const caller = bearer(body.data.access_token);
    const holders = await holdEverySession(bouncer);
    const start = performance.now();
    const { status, headers } = await one.get('/users/me', caller);
    t.equal(status, 503);
    t.match(headers.get('retry-after'), /^\d+$/);
    t.ok(performance.now() - start < 12_500, `reported after ${Math.round(performance.now() - start)} ms`);
    await holders.release();
    await recovers(t, one, caller);
  });

  for (const service of pair) t.strictSame(await service.stop(), { code: 0, signal: null });
});

t.test('a PgBouncer that does not track prepared statements is detected', { skip }, async (t) => {
  const home = await createHome(t);
  const off = canTrack ? { max_prepared_statements: '0' } : {};
  const bouncer = await startPgBouncer(t, home, { default_pool_size: '3', ...off });
  const services = await Promise.all([startBehind(home, bouncer), startBehind(home, bouncer)]);
  const [one, other] = services as [Service, Service];
  await send(one, 'PATCH', '/settings', admin, { public_registration: true });
  const journeys = Array.from({ length: people }, (_, number) => journey(t, number, one, other));
  await Promise.all(journeys);
  const sessions = await inEverySession(bouncer, 'select count(*)::int as prepared from pg_prepared_statements', 3);
  // Each instance used one to detect this.
  t.ok(sessions.reduce((sum, { prepared }) => sum + Number(prepared), 0) <= services.length);
  for (const service of services) t.strictSame(await service.stop(), { code: 0, signal: null });
});

t.test('a session parameter in the URL is rejected with a message', { skip }, async (t) => {
  const home = await createHome(t);
  const bouncer = await startPgBouncer(t, home);
  const url = new URL(bouncer.url);
  url.search = '?options=-c%20statement_timeout%3D5000';
  const { code, stderr } = await refusedService(home, { ...variables, DATABASE_URL: url.href });
  t.equal(code, 1);
  t.match(stderr, /unsupported startup parameter/);
  t.notMatch(stderr, /^\s+at /m);
});

const startBehind = (home: Home, { url }: PgBouncer) =>
  startService(home, {
    ...variables,
    ADMIN_TOKEN: token,
    MAILBOX_KEY: mailboxKey,
    REGISTRATION_ANSWER_TIME: '5ms',
    DATABASE_URL: url.href,
  });

/** Everything that a user does from registration to a password reset, alternating between the instances. */
async function journey(t: Test, number: number, one: Service, other: Service): Promise<void> {
  const email = `somebody-${number}@example.com`;
  const first = { email, password: 'a good long password' };
  const last = { email, password: 'another good long password' };
  const steps: number[] = [];
  const step = async (answer: Promise<Response>) => {
    const response = await answer;
    steps.push(response.status);
    const text = await response.text();
    return text === '' ? undefined : JSON.parse(text).data;
  };

  await step(one.post('/users/register', first));
  await step(other.get(`/users/register/verify-email?token=${await tokenMailed(one, email, 1)}`));
  let session = await step(one.post('/auth/login', first));
  for (let time = 0; time < 5; time++) {
    const service = time % 2 === 0 ? other : one;
    session = await step(service.post('/auth/refresh', { refresh_token: session.refresh_token }));
    const { id } = claimsOf(session.access_token);
    const me = await step(service.get('/users/me?fields=id', bearer(session.access_token)));
    t.strictSame(me, { id }, 'no caller gets the response to another');
    const found = await step(service.get(`/users?fields=id&search=${email}`, admin));
    t.strictSame(found, [{ id }]);
    await step(send(service, 'PATCH', `/users/${id}`, admin, { title: `time ${time}` }));
  }
  await step(other.post('/auth/password/request', { email }));
  await step(one.post('/auth/password/reset', { token: await tokenMailed(other, email, 2), password: last.password }));
  await step(one.post('/auth/login', last));
  t.strictSame([...new Set(steps)].sort(), [200, 204], email);
}

const send = (service: Service, method: string, path: string, headers: Record<string, string>, body: object) =>
  fetch(`${service.url}${path}`, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const mailboxKey = 'the-key-of-the-mailbox';

/** The token from the nth email with a token to a user. */
async function tokenMailed(service: Service, email: string, nth: number): Promise<string> {
  for (const end = performance.now() + 20_000; performance.now() < end; await sleep(100)) {
    const response = await service.get(`/mailbox?key=${mailboxKey}`, { accept: 'application/json' });
    const { data } = (await response.json()) as { data: { to: string; text: string }[] };
    const links = data.filter(({ to, text }) => to === email && text.includes('token='));
    const latest = links.length >= nth ? links[0] : undefined;
    if (latest) return linkIn(latest).searchParams.get('token') ?? '';
  }
  throw new Error(`No email arrived at ${email}.`);
}

/** The number of emails that were sent, and of those that are waiting or failed. */
async function mailJobs(home: Home) {
  const [jobs] = await askStored(
    home,
    `select count(*) filter (where state = 'completed')::int as done, count(*) filter (where state <> 'completed')::int as left
      from ${schemas.queue}.job where name = 'mail'`,
  );
  return { done: Number(jobs?.done), left: Number(jobs?.left) };
}

/** Watches how many sessions PostgreSQL has, and how many clients wait for one. */
function watchConnections(home: Home, bouncer: PgBouncer) {
  let isOver = false;
  const seen = { most: 0, mostWaiting: 0 };
  const watching = (async () => {
    while (!isOver) {
      const [open] = await askStored(
        home,
        'select count(*)::int as count from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      seen.most = Math.max(seen.most, Number(open?.count));
      const pools = await bouncer.ask('show pools');
      for (const { cl_waiting: waiting } of pools) seen.mostWaiting = Math.max(seen.mostWaiting, Number(waiting));
      await sleep(20);
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await watching;
      return seen;
    },
  };
}

/** Occupies all sessions of PgBouncer, each with a transaction, and runs a query in each of them. */
async function inEverySession(bouncer: PgBouncer, question: string, size = poolSize) {
  const { answers, release } = await holdEverySession(bouncer, question, size);
  await release();
  return answers;
}

async function holdEverySession(bouncer: PgBouncer, question = 'select 1', size = poolSize) {
  const sql = postgres(bouncer.url.href, { max: size, prepare: false, fetch_types: false, onnotice: () => {} });
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const answers: Record<string, unknown>[] = [];
  const transactions: Promise<unknown>[] = [];
  const allAnswered = new Promise<void>((resolve, reject) => {
    for (let index = 0; index < size; index++) {
      const transaction = sql.begin(async (tx) => {
        const [answer] = await tx.unsafe(question);
        answers.push({ ...answer });
        if (answers.length === size) resolve();
        await held;
      });
      transaction.catch(reject);
      transactions.push(transaction);
    }
  });
  await allAnswered;
  return {
    answers,
    release: async () => {
      letGo();
      await Promise.all(transactions);
      await sql.end();
      await healthIsFresh();
    },
  };
}
