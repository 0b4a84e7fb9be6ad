import { randomBytes, randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { hash } from '@node-rs/argon2';
import postgres from 'postgres';
import { deriveKey } from '../plugins/platform/key-derivation.js';
import { createRefreshTokens, hashToken } from '../plugins/tokens/refresh-tokens.js';
import { serviceFile, startServer } from './processes.js';

export type Engine = 'postgres' | 'embedded';

/** The administrator of each benchmark database. All users have the same password. */
export const admin = { email: 'admin@example.com', password: 'the password of everybody here' };
export const secret = 'a secret for measurements, long enough';

/** A database with many users. */
export interface FilledDatabase {
  engine: Engine;
  users: number;
  /** Refresh tokens of unused sessions, a separate set for each consumer. */
  refreshTokens: Record<'service' | 'floor' | 'growth', readonly string[]>;
  /** For PostgreSQL its URL; otherwise, the folder of the embedded database. */
  place: string;
  /** The environment variables of a service on this database. */
  variables: Readonly<Record<string, string>>;
  /** Where a second server can use the database at the same time: the same place, or a copy of it. */
  secondPlace(): string;
  /**
   * Makes the server write the new data to disk, so that it does not do so during the measurements. After that, the first change
   * of each page is logged as a full page. Does nothing if the role may not run a checkpoint.
   */
  writeOut(): Promise<void>;
  /** The processes of PostgreSQL that serve the database, if it is on this machine. */
  backends(): Promise<number[]>;
  drop(): Promise<void>;
}

const unusedSessions = 2_500;

/** The email address of one of the active users; there is one such user for every twenty users. */
export const memberEmail = (number: number) => `member${number * 20 + 1}@example.com`;

/** Creates a database with this number of users, and with the data of a mature project: roles, sessions, times of last access. */
export async function fillDatabase(engine: Engine, users: number): Promise<FilledDatabase> {
  const made = engine === 'postgres' ? await createDatabase() : createFolder();
  const variables = {
    ...made.variables,
    SECRET: secret,
    ADMIN_EMAIL: admin.email,
    ADMIN_PASSWORD: admin.password,
    LOG_LEVEL: 'warn',
    ACCESS_TOKEN_TTL: '1d',
    // Rate limits must not slow down a single client that sends requests as fast as it can.
    RATE_LIMITER_ENABLED: 'false',
    RATE_LIMITER_REGISTRATION_ENABLED: 'false',
    RATE_LIMITER_MAIL_ENABLED: 'false',
  };
  // The first start creates the tables.
  await (await startServer(serviceFile, variables)).stop();
  const unused = Array.from({ length: 3 * unusedSessions }, () => randomUUID());
  const tokens = unused.map((sessionId) => issuing.issue({ sessionId, generation: 0 }));
  const rows = tokens.map((token, index) => `('${unused[index]}'::uuid, '${hashToken(token)}', ${index})`);
  const statements = [...(await filling(users)), sessionsOf(rows), 'vacuum analyze'];
  if (engine === 'postgres') {
    await runStatements(made.place, statements);
  } else {
    const client = await PGlite.create({ dataDir: `${made.place}/database` });
    for (const statement of statements) await client.exec(statement);
    await client.close();
  }
  const copies: string[] = [];
  return {
    engine,
    users,
    refreshTokens: {
      service: tokens.slice(0, unusedSessions),
      floor: tokens.slice(unusedSessions, 2 * unusedSessions),
      growth: tokens.slice(2 * unusedSessions),
    },
    place: made.place,
    variables,
    secondPlace: () => {
      if (engine === 'postgres') return made.place;
      const copy = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
      cpSync(made.place, copy, { recursive: true });
      copies.push(copy);
      return copy;
    },
    writeOut: made.writeOut,
    backends: made.backends,
    drop: async () => {
      await made.drop();
      for (const copy of copies) rmSync(copy, { recursive: true, force: true });
    },
  };
}

/** An empty database on the PostgreSQL server in DATABASE_URL. */
export interface EmptyDatabase extends Pick<FilledDatabase, 'place' | 'variables' | 'writeOut' | 'backends'> {
  drop(): Promise<unknown>;
}

export async function createDatabase(): Promise<EmptyDatabase> {
  const server = process.env.DATABASE_URL;
  if (!server) throw new Error('Set DATABASE_URL to a PostgreSQL on which databases may be created.');
  const name = `gatehouse_bench_${randomBytes(6).toString('hex')}`;
  const place = new URL(server);
  place.pathname = `/${name}`;
  const onServer = async (statement: string) => (await runStatements(server, [statement]))[0] ?? [];
  const writeOut = async () => void (await onServer('checkpoint').catch(() => {}));
  const backends = async () => {
    const found = await onServer(`select pid from pg_stat_activity where datname = '${name}'`);
    return found.map(({ pid }) => Number(pid));
  };
  await onServer(`create database ${name}`);
  const drop = () => onServer(`drop database ${name} with (force)`);
  return { place: place.href, variables: { DATABASE_URL: place.href }, writeOut, backends, drop };
}

/** Runs statements on a PostgreSQL database. @returns the rows of each */
export async function runStatements(place: string, statements: readonly string[]) {
  const sql = postgres(place, { max: 1, onnotice() {} });
  try {
    const results: Record<string, unknown>[][] = [];
    for (const statement of statements) results.push(await sql.unsafe(statement));
    return results;
  } finally {
    await sql.end();
  }
}

function createFolder() {
  const place = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  const drop = async () => rmSync(place, { recursive: true, force: true });
  return { place, variables: { DATA_DIR: place }, writeOut: async () => {}, backends: async () => [], drop };
}

const issuing = createRefreshTokens([deriveKey(secret, 'refresh-token')]);

const names = {
  first: 'Ada Barbara Edsger Grace Hedy Ivan Joan Karen Leslie Margaret Niklaus Radia Shafi Tim Vint Whitfield',
  last: 'Allen Borg Cerf Dijkstra Easley Floyd Goldwasser Hopper Ito Jones Knuth Liskov Mayer Naur Perlman Rivest',
};
const oneOf = (words: string, of: string) => {
  const list = words.split(' ');
  return `(array['${list.join("','")}'])[1 + (${of}) % ${list.length}]`;
};

/** The columns of {@link usersQuery}, as Gatehouse and Directus name them. */
export const userColumns =
  'first_name, last_name, email, password, title, location, description, tags, language, status';

/**
 * A query for the data of many users, and their number `n`. Of twenty users, one is suspended and one is invited.
 * @param password an SQL expression for the hash of the password that they all have
 */
export function usersQuery(users: number, password: string): string {
  const email = `case when n % 20 = 7 then 'suspended' when n % 20 = 13 then 'invited' else 'member' end || n || '@example.com'`;
  return `select n, ${oneOf(names.first, 'n / 3')} as first_name, ${oneOf(names.last, 'n / 7')} || n % 1000 as last_name,
    ${email} as email, ${password} as password, 'Engineer' as title, 'Room ' || n % 500 as location,
    'Works on project ' || n % 10000 as description, '["a tag", "another"]'::json as tags, 'en-US' as language,
    case n % 20 when 7 then 'suspended' when 13 then 'invited' else 'active' end as status
    from generate_series(1, ${users}) n`;
}

/** An SQL expression for the role of user `n`: one of the twenty roles in `table`, in rotation. */
export const roleOfUser = (table: string) =>
  `(select array_agg(id order by name) from ${table} where name like 'Role %')[1 + n % 20]`;

/**
 * An SQL expression for an ID as the service creates it: its order is that of time, so a list in this order reads the pages of a table one
 * after the other.
 * @param at the time
 * @param n a number that makes it unique
 */
export const timedId = (at: string, n: string) =>
  `(lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0') || '70008000' || lpad(to_hex(${n}), 12, '0'))::uuid`;

/**
 * Twenty roles with the rights of an app user, assigned to the users in rotation. One user in ten has never used the API. Every
 * active user has a session.
 */
async function filling(users: number): Promise<string[]> {
  const password = await hash(admin.password, { memoryCost: 19_456, timeCost: 2, parallelism: 1 });
  return [
    `insert into roles (name) select 'Role ' || n from generate_series(1, 20) n`,
    `with made as (insert into policies (name, app_access) values ('Members', true) returning id)
      insert into role_policies (role, policy) select roles.id, made.id from roles, made where roles.name like 'Role %'`,
    `insert into users (id, created_at, ${userColumns}, role)
      select ${timedId('at', 'n')}, at, ${userColumns}, ${roleOfUser('roles')}
      from (select *, date_trunc('milliseconds', now() - (${users} - n) * interval '1 minute') as at
        from (${usersQuery(users, `'${password}'`)}) generated) dated`,
    `update user_uses set last_access = date_trunc('milliseconds', now() - random() * interval '300 days')
      from users where id = "user" and email ~ '[1-9]@'`,
    `insert into sessions (id, "user", token_hash, created_at, last_used_at, expires_at)
      select gen_random_uuid(), id, md5(id::text) || md5(email), now(), now(), now() + interval '7 days' from users where status = 'active'`,
  ];
}

/** Sessions of the first active users, one each. @param rows id, token hash and number of each session */
const sessionsOf = (
  rows: string[],
) => `insert into sessions (id, "user", token_hash, created_at, last_used_at, expires_at)
  select made.id, member.id, made.hash, now(), now(), now() + interval '7 days'
  from (values ${rows.join()}) made(id, hash, number)
  join (select id, row_number() over () - 1 as number from users where status = 'active' and email like 'member%' limit ${rows.length}) member
    on member.number = made.number`;
