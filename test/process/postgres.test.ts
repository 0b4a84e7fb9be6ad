import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { engine } from '../helpers/database/databases.js';
import { askStored } from '../helpers/database/stored.js';
import { memoryOf } from '../helpers/measurements/proc.js';
import { bearer } from '../helpers/service/app.js';
import { databaseUrl, healthIsFresh, recovers, startBehindProxy, variables } from '../helpers/service/outage.js';
import {
  createHome,
  launchService,
  logIn,
  refusedService,
  type Service,
  startService,
} from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';

const skip = engine === 'embedded' && 'PostgreSQL only';

t.test('five instances that start together on an empty database create one administrator', { skip }, async (t) => {
  const home = await createHome(t);
  const instances = await Promise.all([0, 1, 2, 3, 4].map(() => startService(home, cheapHashing)));
  const passwords = instances.flatMap(({ password }) => password ?? []);
  t.equal(passwords.length, 1, 'one password is generated');
  t.equal(
    instances.filter(({ stdout }) => stdout.includes('"passwordFile"')).length,
    1,
    'one instance reports the password file',
  );
  const [users] = await askStored(home, 'select count(*)::int as count from users');
  const [roles] = await askStored(home, 'select count(*)::int as count from roles');
  t.strictSame([users?.count, roles?.count], [1, 1], 'one administrator, one role');
  for (const instance of instances) t.equal((await logIn(instance, passwords[0])).status, 200);
  for (const instance of instances) t.strictSame(await instance.stop(), { code: 0, signal: null });
});

const withoutProc = process.platform !== 'linux' && 'there is no /proc';

t.test('an idle service needs little memory', { skip: skip || withoutProc }, async (t) => {
  const home = await createHome(t);
  await (await startService(home, variables)).stop();
  const service = await startService(home, variables);
  // Measured: 104 to 115, the highest with newer versions of Node.js. Without the memory tuning after the start, it
  // is 140.
  const most = 125;
  // Compilation after the start temporarily uses more memory.
  await sleep(3_000);
  let megabytes = memoryOf(service.pid).now;
  for (let tries = 0; tries < 100 && megabytes > most; tries++) {
    await sleep(100);
    megabytes = memoryOf(service.pid).now;
  }
  t.ok(megabytes <= most, `${Math.round(megabytes)} MB`);
  t.strictSame(await service.stop(), { code: 0, signal: null });
});

t.test('instances killed during their start leave nothing incomplete', { skip }, async (t) => {
  const home = await createHome(t);
  for (const ms of [250, 400, 550]) {
    const all = [launchService(home, variables), launchService(home, variables)];
    await sleep(ms);
    await Promise.all(all.map((service) => service.stop('SIGKILL')));
  }
  const service = await startService(home, variables);
  t.equal((await logIn(service, 'the password')).status, 200);
  await service.stop();
});

t.test('a database or a role that does not exist is reported with a message', { skip }, async (t) => {
  const home = await createHome(t);
  const url = (change: (url: URL) => void) => {
    const changed = databaseUrl(home);
    change(changed);
    return { DATABASE_URL: changed.href };
  };
  const cases = [
    {
      change: url((u) => {
        u.pathname = '/no_such_database';
      }),
      says: 'does not have this database',
    },
    {
      change: url((u) => {
        u.username = 'no_such_role';
      }),
      says: 'rejects this user',
    },
  ];
  for (const { change, says } of cases) {
    const { code, stderr } = await refusedService(home, change);
    t.equal(code, 1);
    t.match(stderr, says);
    t.notMatch(stderr, /^\s+at /m);
  }
});

t.test('the service recovers after outages of the database', { skip }, async (t) => {
  const { home, proxy, service } = await startBehindProxy(t);
  const { body } = await logIn(service, 'the password');
  const token = bearer(body.data.access_token);

  await t.test('after connections are reset and then refused', async (t) => {
    await proxy.cut();
    await isUnavailable(t, service, token);
    await proxy.restore();
    await recovers(t, service, token);
  });

  await t.test('a hundred simultaneous clients get 503 without waiting for each other', async (t) => {
    await proxy.cut();
    const start = performance.now();
    const answers = await Promise.all(Array.from({ length: 100 }, () => service.get('/users/me', token)));
    t.strictSame([...new Set(answers.map(({ status }) => status))], [503]);
    t.ok(performance.now() - start < 4_000);
    await proxy.restore();
    await recovers(t, service, token);
  });

  await t.test('after connections are cut during requests', async (t) => {
    const requests = Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        await sleep(index * 5);
        return (await logIn(service, 'the password')).status;
      }),
    );
    await sleep(100);
    await proxy.cut();
    const statuses = new Set(await requests);
    t.ok(statuses.has(503));
    t.strictSame(
      [...statuses].filter((status) => status !== 200 && status !== 503),
      [],
    );
    await proxy.restore();
    await recovers(t, service, token);
  });

  await t.test('after connections are cut repeatedly under load', async (t) => {
    let slowest = 0;
    let isOver = false;
    const seen = new Set<number>();
    const client = async () => {
      while (!isOver) {
        const start = performance.now();
        seen.add((await service.get('/users/me', token)).status);
        slowest = Math.max(slowest, performance.now() - start);
      }
    };
    const clients = Array.from({ length: 20 }, client);
    for (let cycle = 0; cycle < 10; cycle++) {
      await sleep(100);
      await proxy.cut();
      await sleep(20);
      await proxy.restore();
    }
    await recovers(t, service, token);
    isOver = true;
    await Promise.all(clients);
    t.strictSame([...seen].sort(), [200, 503]);
    t.ok(slowest < 4_000, `no request waited long: ${Math.round(slowest)} ms at most`);
  });

  await t.test('after a proxy without a backend closes connections', async (t) => {
    proxy.hangUp();
    await isUnavailable(t, service, token);
    await proxy.restore();
    await recovers(t, service, token);
  });

  await t.test('after PostgreSQL ends all sessions', async (t) => {
    await Promise.all([0, 1, 2, 3].map(() => service.get('/users/me', token)));
    await askStored(
      home,
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
    );
    await recovers(t, service, token);
  });

  t.strictSame(await service.stop(), { code: 0, signal: null });
});

/** Checks that every kind of request returns 503 with Retry-After, and that nothing breaks. */
async function isUnavailable(t: Test, service: Service, token: Record<string, string>): Promise<void> {
  const answers = {
    login: service.post('/auth/login', { email: 'admin@example.com', password: 'the password' }),
    refresh: service.post('/auth/refresh', { refresh_token: 'x'.repeat(64) }),
    me: service.get('/users/me', token),
    staticToken: service.get('/users/me?access_token=some-static-token'),
    info: service.get('/server/info'),
    pingWithToken: service.get('/server/ping', token),
  };
  for (const [name, pending] of Object.entries(answers)) {
    const answer = await pending;
    if (name === 'refresh') {
      t.match(String(answer.status), /^(401|503)$/, 'refresh: an invalid token needs no database');
      continue;
    }
    t.equal(answer.status, 503, name);
    t.match(answer.headers.get('retry-after'), /^\d+$/, name);
    t.match(
      await answer.json(),
      { errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE', service: 'database' } }] },
      name,
    );
  }
  await healthIsFresh();
  const health = await service.get('/server/health');
  t.equal(health.status, 503);
  t.match(health.headers.get('content-type'), 'application/health+json');
  t.strictSame(await health.json(), { status: 'error' });
  t.equal((await service.get('/server/ping')).status, 200, 'a request that needs no database is answered');
}
