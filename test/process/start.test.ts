// @suite embedded-only: hardly depends on the engine

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { freePort } from '../helpers/servers/ports.js';
import { bearer } from '../helpers/service/app.js';
import {
  createHome,
  environment,
  logIn,
  logLines,
  refusedService,
  serverFile,
  startQuietService,
  startService,
} from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';
import { administrator } from '../helpers/users/credentials.js';

const { email } = administrator;

t.test(
  'the first start creates an administrator, and stores the password in a file that only its owner can read',
  async (t) => {
    const home = await createHome(t);
    const first = await startService(home);
    const ready = logLines(first.stdout).filter((line) => 'passwordFile' in line);
    t.equal(ready.length, 1, 'all information is in one line');
    t.match(ready[0], {
      listening: /^http:\/\/127\.0\.0\.1:\d+$/,
      url: /^http:\/\/localhost:\d+$/,
      account: /^http:\/\/localhost:\d+\/account$/,
      docs: /^http:\/\/localhost:\d+\/docs$/,
      database: engine === 'embedded' ? 'embedded, in ./data' : 'PostgreSQL',
      administrator: email,
      passwordFile: 'data/admin-password',
    });
    t.match(first.password, /^[A-Za-z0-9_-]{20,}$/);
    t.notOk(first.stdout.includes(first.password ?? '?'), 'the log does not contain the password');
    t.equal(statSync(join(home.directory, 'data/admin-password')).mode & 0o777, 0o600);
    t.equal(
      new URL(String(ready[0]?.url)).port,
      new URL(first.url).port,
      'the URL contains the port on which the service listens',
    );
    t.equal(first.stderr, '');
    t.equal(statSync(join(home.directory, 'data')).mode & 0o077, 0, 'the data is private');

    const { status, body } = await logIn(first, first.password);
    t.equal(status, 200);
    const me = await first.get('/users/me', bearer(body.data.access_token));
    t.match(await me.json(), { data: { email, status: 'active' } });
    t.equal((await first.get('/docs/')).status, 200);
    t.strictSame(await first.stop(), { code: 0, signal: null });

    const secret = engine === 'embedded' ? readFileSync(join(home.directory, 'data/secret'), 'utf8') : '';
    const second = await startService(home);
    t.notOk(second.stdout.includes('password'), 'the second start does not mention a password');
    t.notOk(second.stdout.includes(first.password ?? '?'));
    t.match(second.announcement, { listening: second.url, administrator: undefined });
    t.equal(
      (await second.get('/users/me', bearer(body.data.access_token))).status,
      200,
      'tokens stay valid: same secret',
    );
    t.equal((await logIn(second, first.password)).status, 200, 'the password of the first start still works');
    if (engine === 'embedded') t.equal(readFileSync(join(home.directory, 'data/secret'), 'utf8'), secret);
    await second.stop();
  },
);

t.test(
  'the threads that hash passwords have a lower priority than the main thread',
  { skip: process.platform !== 'linux' && 'Linux only' },
  async (t) => {
    const service = await startService(await createHome(t, { prepared: true }), cheapHashing);
    const niceness = (thread: string | number) => {
      const text = readFileSync(`/proc/${service.pid}/task/${thread}/stat`, 'utf8');
      return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[16]);
    };
    const giveWay = () => readdirSync(`/proc/${service.pid}/task`).filter((thread) => niceness(thread) === 10).length;
    t.equal((await logIn(service, service.password)).status, 200);
    t.equal(giveWay(), 1, 'only one thread was needed so far');
    t.equal(niceness(service.pid), 0, 'the main thread');
    await service.stop();
  },
);

t.test('without a terminal, every line is JSON, and no line contains a secret', async (t) => {
  const home = await createHome(t, { prepared: true });
  const service = await startService(home, cheapHashing);
  const { body } = await logIn(service, service.password);
  await service.get(`/users/me?access_token=${body.data.access_token}`);
  await service.get('/nowhere');
  await logIn(service, 'not the password at all');
  await service.stop();
  const lines = logLines(service.stdout);
  t.ok(lines.length > 4);
  t.equal(service.stdout.at(-1), '\n');
  for (const line of lines) t.match(line, { level: Number, time: Number, msg: String });
  t.notOk(service.stdout.includes(body.data.access_token));
  t.notOk(service.stdout.includes('not the password at all'));
  t.notOk(service.stdout.includes(service.password ?? '?'));
});

t.test('the generated password is stored whatever LOG_LEVEL is', async (t) => {
  const home = await createHome(t, { prepared: true });
  const service = await startQuietService(home, { LOG_LEVEL: 'silent' });
  const password = readFileSync(join(home.directory, 'data/admin-password'), 'utf8').trim();
  t.equal((await logIn(service, password)).status, 200);
  await service.stop();
  t.equal(service.stdout, '');
});

t.test('misspelled variables are reported with the name that was probably meant', async (t) => {
  const home = await createHome(t, { prepared: true });
  const service = await startService(home, {
    ...cheapHashing,
    PUBLIC_URl: 'https://a.example',
    RATE_LIMITER_POINT: '5',
  });
  await service.stop();
  const warnings = logLines(service.stdout).filter(({ level }) => level === 40);
  t.strictSame(
    warnings.map(({ msg }) => msg),
    [
      'The environment variable PUBLIC_URl has no effect. Did you mean PUBLIC_URL?',
      'The environment variable RATE_LIMITER_POINT has no effect. Did you mean RATE_LIMITER_POINTS?',
    ],
  );
  const { stderr } = await refusedService(home, { PORT: 'x', PUBLIC_URl: 'https://a.example' });
  t.match(stderr, 'Did you mean PUBLIC_URL?', 'also when the start fails');
});

const noTerminal = spawnSync('script', ['--version']).status !== 0 && '`script` from util-linux is not installed';

t.test('on a terminal, the output is readable text', { skip: noTerminal }, async (t) => {
  const home = await createHome(t, { prepared: true });
  const port = await freePort();
  const variables = { ...environment(home), PORT: String(port), TERM: 'xterm', COLUMNS: '200' };
  const command = `echo "pid $$"; exec "${process.execPath}" "${serverFile}"`;
  const terminal = spawn('script', ['-qefc', command, '/dev/null'], { cwd: home.directory, env: variables });
  let screen = '';
  terminal.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    screen += chunk;
  });
  const ended = new Promise((resolve) => terminal.on('close', resolve));
  t.teardown(() => terminal.kill('SIGKILL'));
  const givenUpAt = Date.now() + 60_000;
  while (!screen.includes('Save it now.') && Date.now() < givenUpAt) await sleep(50);

  t.match(screen, 'Gatehouse is ready.');
  t.match(screen, new RegExp(`listening +http://127\\.0\\.0\\.1:${port}\r\n`));
  t.match(screen, new RegExp(`account +http://localhost:${port}/account\r\n`));
  t.match(screen, new RegExp(`docs +http://localhost:${port}/docs\r\n`));
  t.match(screen, new RegExp(`administrator +${email}\r\n`));
  t.match(screen, 'The password is shown only once.');
  t.notOk(existsSync(join(home.directory, 'data/admin-password')), 'the password is not stored');
  t.notMatch(screen, '{"level"');
  const password = screen.match(/ password +(\S+)\r\n/)?.[1];
  const login = await fetch(`http://127.0.0.1:${port}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  t.equal(login.status, 200);
  process.kill(Number(screen.match(/pid (\d+)/)?.[1]), 'SIGTERM');
  t.equal(await ended, 0);
  t.match(screen, 'request', 'requests are logged');
  t.notMatch(screen, '{"level"');
});

t.test('ADMIN_EMAIL, ADMIN_PASSWORD, and ADMIN_TOKEN apply only at the first start', async (t) => {
  const home = await createHome(t, { prepared: true });
  const given = {
    ADMIN_EMAIL: 'root@example.org',
    ADMIN_PASSWORD: 'chosen by the operator',
    ADMIN_TOKEN: 'the-first-static-token-of-the-operator',
  };
  const first = await startService(home, given);
  t.equal(first.announcement.administrator, 'root@example.org');
  t.notOk('passwordFile' in first.announcement);
  t.notOk(existsSync(join(home.directory, 'data/admin-password')));
  t.notOk(first.stdout.includes(given.ADMIN_PASSWORD));
  t.notOk(first.stdout.includes(given.ADMIN_TOKEN));
  t.equal((await logIn(first, given.ADMIN_PASSWORD, given.ADMIN_EMAIL)).status, 200);
  const query = new URLSearchParams({ access_token: given.ADMIN_TOKEN });
  const me = await first.get(`/users/me?${query}`);
  t.match(await me.json(), { data: { email: 'root@example.org', token: '**********' } });
  await first.stop();

  const second = await startService(home, {
    ADMIN_EMAIL: 'second@example.org',
    ADMIN_PASSWORD: 'another password',
    ADMIN_TOKEN: 'another-static-token-of-the-operator',
  });
  t.equal((await logIn(second, 'another password', 'second@example.org')).status, 401);
  t.equal((await second.get('/users/me?access_token=another-static-token')).status, 401);
  t.equal((await second.get(`/users/me?${query}`)).status, 200);
  await second.stop();
});

t.test('the code loaded at startup is plain ASCII, because otherwise it would need twice the memory', async (t) => {
  t.notMatch(readFileSync(serverFile, 'utf8'), /[^\0-\x7f]/);
});

t.test('a start does not load libraries that only some installations or requests need', async (t) => {
  const folder = dirname(serverFile);
  const bundles = readdirSync(folder).filter((name) => name === 'server.js' || /^chunk-.*\.js$/.test(name));
  const textOf = (name: string) => readFileSync(join(folder, name), 'utf8');
  const loaded = new Set(['server.js']);
  for (const name of loaded) {
    for (const [, found = ''] of textOf(name).matchAll(/(?:from|import)"\.\/(chunk-\w+\.js)"/g)) loaded.add(found);
  }
  const libraries = [
    'BatchSpanProcessor',
    'nodemailer',
    'ioredis',
    'oidc-provider',
    'prom-client',
    'simple-oauth2',
    'SettingsService',
  ];
  for (const library of libraries) {
    const containing = bundles.filter((name) => textOf(name).includes(library));
    t.not(containing.length, 0, `${library} is bundled`);
    t.same(
      containing.filter((name) => loaded.has(name)),
      [],
      `${library} is loaded when it is needed`,
    );
  }
});
