import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import t from 'tap';
import { databaseUrlFaults, readDatabaseUrl, serversIn } from '../../db/postgres/database-url.js';
import { createPostgresPool } from '../../db/postgres/pool.js';
import { createTestDatabase, engine } from '../helpers/database/databases.js';
import { freePort } from '../helpers/servers/ports.js';

const skip = engine === 'embedded' && 'PostgreSQL only';

const at = (host: string, port = 5432) => ({ host, port });
const socket = (path: string, port = 5432) => ({ host: 'localhost', port, path });

t.test('a URL is read as libpq reads it', async (t) => {
  for (const [rest, servers] of [
    ['localhost', [at('localhost')]],
    ['user:password@db:5433/name', [at('db', 5433)]],
    ['user@[::1]:5433/name', [at('::1', 5433)]],
    ['user@[2001:db8::1%25eth0]', [at('2001:db8::1%eth0')]],
    ['one,two:5433,[::1]:5434/name', [at('one'), at('two', 5433), at('::1', 5434)]],
    ['one,two/name?port=5433,5434', [at('one', 5433), at('two', 5434)]],
    ['one,two/name?port=6000', [at('one', 6000), at('two', 6000)]],
    ['user@/name', [at('localhost')]],
    ['/name?host=/run/postgresql', [socket('/run/postgresql/.s.PGSQL.5432')]],
    ['/name?host=/run/postgresql/&port=5433', [socket('/run/postgresql/.s.PGSQL.5433', 5433)]],
    ['user@%2Frun%2Fpostgresql/name', [socket('/run/postgresql/.s.PGSQL.5432')]],
    ['%2Frun%2Fpostgresql:5433/name', [socket('/run/postgresql/.s.PGSQL.5433', 5433)]],
    ['/name?host=%2Frun%2Fpostgresql,db', [socket('/run/postgresql/.s.PGSQL.5432'), at('db')]],
    ['', [at('localhost')]],
  ] as const) {
    t.strictSame(readDatabaseUrl(`postgres://${rest}`).servers, servers, rest);
    t.strictSame(readDatabaseUrl(`postgresql://${rest}`).servers, servers, rest);
  }
  t.match(readDatabaseUrl('postgres://j%C3%B6rg:p%40ss%2Fw%3Frd%25@db/my%20data%2Fbase'), {
    user: 'jörg',
    password: 'p@ss/w?rd%',
    database: 'my data/base',
  });
  t.match(readDatabaseUrl('postgres://db?user=me&password=a%26b&dbname=x'), {
    user: 'me',
    password: 'a&b',
    database: 'x',
  });
  t.equal(readDatabaseUrl('postgres://db').database, undefined);
  t.equal(serversIn('postgres://me:secret@[::1],db:5433/x'), '[::1]:5432,db:5433');
  t.equal(serversIn('postgres:///x?host=/run'), '/run/.s.PGSQL.5432');
});

t.test('a parameter with a value that it cannot have is reported by name, and a password never', async (t) => {
  for (const name of ['sslmode', 'sslnegotiation', 'target_session_attrs', 'prepare']) {
    t.match(databaseUrlFaults(`postgres://db?${name}=bogus`), [new RegExp(`the parameter ${name} must be one of`)]);
  }
  // A question mark in a password must be encoded. What follows it is mistaken for a parameter.
  const [fault] = databaseUrlFaults('postgres://me:1234?rest-of-it@db/name');
  t.match(fault, 'must be percent-encoded');
  t.notMatch(fault, 'rest-of-it');
  t.strictSame(databaseUrlFaults('postgres://db?target_session_attrs=primary&prepare=false&sslnegotiation=direct'), []);
});

t.test('the service connects in each of these ways', { skip }, async (t) => {
  const database = await createTestDatabase();
  const url = new URL(database.url ?? '');
  const target = { host: url.hostname, port: Number(url.port || 5432) };
  // Stand-ins for a server that listens on IPv6 and on a socket: not every server does.
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-socket-'));
  const port = await freePort();
  const fronts = [join(directory, '.s.PGSQL.5432'), port].map((place) => {
    const front = createServer((client) => {
      const server = connect(target);
      client.pipe(server).pipe(client);
      for (const end of [client, server])
        end.on('error', () => {}).on('close', () => [client, server].map((one) => one.destroy()));
    });
    return typeof place === 'string' ? front.listen(place) : front.listen(place, '::1');
  });
  const owner = postgres(url.href, { max: 1, onnotice: () => {} });
  const role = `gatehouse_test_${port}`;
  const name = `Rôle @ ${port} / 100%?`;
  await owner.unsafe(`create role "${name}" login superuser password '${role}:/?#@%'`);
  t.teardown(async () => {
    await owner.unsafe(`drop role "${name}"`);
    await owner.end();
    await database.drop();
    for (const front of fronts) front.close();
    rmSync(directory, { recursive: true });
  });

  const login = url.username ? `${url.username}${url.password ? `:${url.password}` : ''}@` : '';
  const path = encodeURIComponent(directory);
  for (const [place, parameters, found] of [
    [`${login}[::1]:${port}`, '', url.username],
    [login, `host=${directory}`, url.username],
    [login, `host=${path}`, url.username],
    [`${login}${path}`, '', url.username],
    [`${login}${path}:5432,[::1]:${port}`, 'target_session_attrs=read-write', url.username],
    [`${login}127.0.0.1:1,[::1]:${port}`, '', url.username],
    [`${encodeURIComponent(name)}:${encodeURIComponent(`${role}:/?#@%`)}@[::1]:${port}`, '', name],
    [`[::1]:${port}`, `user=${encodeURIComponent(name)}&password=${encodeURIComponent(`${role}:/?#@%`)}`, name],
    [
      `${login}[::1]:${port}`,
      'application_name=a%20name&options=-c%20statement_timeout%3D77s&connect_timeout=7',
      url.username,
    ],
  ] as const) {
    const wanted = `postgres://${place}${url.pathname}?${parameters}`;
    const pool = createPostgresPool(wanted, { max: 1 });
    const [row] = await drizzle(pool.client).execute(
      sql`select current_user as name, current_setting('statement_timeout') as timeout, current_setting('application_name') as application`,
    );
    await pool.close();
    const isSet = parameters.includes('options');
    t.match(row, { name: found, ...(isSet && { timeout: '77s', application: 'a name' }) }, wanted);
  }
});
