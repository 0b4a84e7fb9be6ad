// @suite not-everyday: starts many processes

import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { engine } from '../helpers/database/databases.js';
import { startPgBouncer, withoutPgBouncer } from '../helpers/database/pgbouncer.js';
import { askStored } from '../helpers/database/stored.js';
import { createHome, type Home, logIn, type Service, startService } from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';
import { administrator } from '../helpers/users/credentials.js';

const skip = engine === 'embedded' && 'PostgreSQL only';
const password = 'the password of the administrator';
const mailboxKey = 'the-key-of-the-mailbox';

/** Settings that change how values are written and read. */
const hostile = {
  datestyle: 'German, DMY',
  timezone: 'America/St_Johns',
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
  extra_float_digits: '-15',
  default_transaction_isolation: 'serializable',
};

for (const datestyle of ['German, DMY', 'SQL, DMY', 'Postgres, MDY']) {
  t.test(`the service works the same with DateStyle = ${datestyle}`, { skip }, async (t) => {
    const home = await createHome(t, { prepared: true });
    await set(home, { ...hostile, datestyle });
    await works(t, await start(home));
  });
}

t.test(
  'the same behind PgBouncer, where a session keeps no settings',
  { skip: skip || withoutPgBouncer },
  async (t) => {
    const home = await createHome(t, { prepared: true });
    await set(home, hostile);
    const bouncer = await startPgBouncer(t, home, { pool_mode: 'transaction', default_pool_size: '2' });
    await works(t, await start(home, { DATABASE_URL: bouncer.url.href }));
  },
);

const start = (home: Home, variables: Record<string, string> = {}) =>
  startService(home, { ...cheapHashing, ADMIN_PASSWORD: password, MAILBOX_KEY: mailboxKey, ...variables });

async function set(home: Home, settings: Record<string, string>): Promise<void> {
  const [found] = await askStored(home, 'select current_database() as name');
  for (const [name, value] of Object.entries(settings))
    await askStored(home, `alter database "${found?.name}" set ${name} = '${value}'`);
}

async function works(t: Test, service: Service): Promise<void> {
  const began = Date.now() - 1_000;
  const { body } = await logIn(service, password);
  const { access_token: access, refresh_token: refresh } = body.data;
  const caller = { authorization: `Bearer ${access}` };
  const read = async (path: string) => {
    const response = await service.get(path, caller);
    t.equal(response.status, 200, path);
    // biome-ignore lint/suspicious/noExplicitAny: each response has other fields
    return ((await response.json()) as { data: any }).data;
  };
  const isNow = (text: unknown, what: string) => {
    const moment = new Date(String(text)).getTime();
    t.ok(moment >= began - 60_000 && moment <= Date.now() + 60_000, `${what}: ${text}`);
  };

  const sessions = await read('/users/me/sessions');
  isNow(sessions[0].created_at, 'the start of the session');
  isNow((await read('/users/me?fields=last_access,created_at')).created_at, 'the date of the user');
  isNow((await read('/activity?sort=-timestamp&limit=1'))[0].timestamp, 'the audit log');
  await read('/users/me/export');
  const address = 'invited@example.com';
  const roles = await read('/roles?fields=id&limit=1');
  t.equal((await service.post('/users/invite', { email: address, role: roles[0].id }, caller)).status, 204);
  t.equal((await service.post('/auth/password/request', { email: administrator.email })).status, 204);
  for (const [subject, to] of [
    ['invitation', address],
    ['reset', administrator.email],
  ] as const) {
    t.ok(await arrives(service, to), `the email for the ${subject} arrives`);
  }
  for (const mail of await read('/mails')) {
    isNow(mail.created_at, 'the date of an email');
    t.match(mail.state, /^sen(t|ding)$/);
  }

  // Pages by date, and filters by date, in both directions.
  const pages: string[] = [];
  let after = '';
  for (let count = 0; count < 20; count++) {
    const response = await service.get(
      `/activity?sort=-timestamp&fields=id&limit=1&meta=cursor${after && `&cursor=${encodeURIComponent(after)}`}`,
      caller,
    );
    t.equal(response.status, 200, 'a page');
    if (response.status !== 200) break;
    const page = (await response.json()) as { data: { id: string }[]; meta?: { next_cursor?: string | null } };
    pages.push(...page.data.map(({ id }) => id));
    after = page.meta?.next_cursor ?? '';
    if (!after) break;
  }
  t.equal(new Set(pages).size, pages.length, 'each row once');
  const filter = encodeURIComponent(JSON.stringify({ timestamp: { _gte: new Date(began).toISOString() } }));
  t.ok((await read(`/activity?filter=${filter}`)).length >= 3, 'a filter by date');
  const counted = await read('/activity?aggregate[count]=*&aggregate[max]=timestamp');
  t.ok(Number(counted[0].count) >= 3 && Number.isInteger(Number(counted[0].count)), 'a count');
  isNow(counted[0].max.timestamp, 'a maximum');
  t.equal((await service.post('/auth/refresh', { refresh_token: refresh })).status, 200);
  t.strictSame(await service.stop(), { code: 0, signal: null });
}

async function arrives(service: Service, to: string): Promise<boolean> {
  for (let tries = 0; tries < 200; tries++) {
    const response = await service.get(`/mailbox?key=${mailboxKey}`, { accept: 'application/json' });
    const { data } = (await response.json()) as { data: { to: string }[] };
    if (data.some((mail) => mail.to === to)) return true;
    await sleep(100);
  }
  return false;
}
