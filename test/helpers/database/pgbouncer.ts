import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import type { Test } from 'tap';
import { readGuide } from '../project/guide.js';
import { createDaemon } from '../servers/daemon.js';
import { freePort } from '../servers/ports.js';
import { databaseUrl } from '../service/outage.js';
import type { Home } from '../service/service.js';
import { ownerByName } from './postgres-cluster.js';

/** Set `PGBOUNCER` to use a PgBouncer other than the installed package. */
const program = process.env.PGBOUNCER ?? 'pgbouncer';
const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
const [, major = 0, minor = 0] = (/PgBouncer (\d+)\.(\d+)/.exec(stdout ?? '') ?? []).map(Number);

/** The reason to skip PgBouncer tests, or false. */
export const withoutPgBouncer = status !== 0 && 'pgbouncer is not installed on this machine';

export const pgBouncerVersion = `${major}.${minor}`;

/** Whether it can track prepared statements, as version 1.21 and later do. */
export const canTrack = major > 1 || minor >= 21;

/** A PgBouncer for one test in front of the database of a home, configured as in the guide. */
export interface PgBouncer {
  /** The URL of the database, through PgBouncer. */
  readonly url: URL;
  start(): Promise<void>;
  /** Sends SIGKILL. Clients lose their connections, and new connections are refused. */
  kill(): Promise<void>;
  /** Runs a command on its console, such as `show pools`. */
  ask(question: string): Promise<Record<string, unknown>[]>;
}

/** PgBouncer refuses to run as root. */
const user = process.getuid?.() === 0 ? ownerByName('nobody') : undefined;
const clientPassword = 'of clients of PgBouncer';

/** Starts a PgBouncer. @param changes settings that differ from the guide; undefined removes a setting */
export async function startPgBouncer(
  t: Test,
  home: Home,
  changes: Readonly<Record<string, string | undefined>> = {},
): Promise<PgBouncer> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-pgbouncer-'));
  chmodSync(directory, 0o755);
  const port = await freePort();
  const server = databaseUrl(home);
  const name = server.pathname.slice(1);
  const userName = decodeURIComponent(server.username) || 'postgres';
  const password = decodeURIComponent(server.password) || clientPassword;
  const settings: Record<string, string | undefined> = {
    ...guideSettings(),
    listen_port: String(port),
    auth_file: join(directory, 'userlist.txt'),
    admin_users: userName,
    unix_socket_dir: '',
    // The test server may have no certificate.
    server_tls_sslmode: 'prefer',
    server_tls_ca_file: undefined,
    ...(canTrack ? {} : { max_prepared_statements: undefined }),
    ...changes,
  };
  const lines = Object.entries(settings).flatMap(([key, value]) => (value === undefined ? [] : `${key} = ${value}`));
  const place = `${name} = host=${server.hostname} port=${server.port || 5432}`;
  writeFileSync(join(directory, 'pgbouncer.ini'), `[databases]\n${place}\n[pgbouncer]\n${lines.join('\n')}\n`);
  writeFileSync(join(directory, 'userlist.txt'), `"${userName}" "${password}"\n`);

  const url = new URL(server);
  Object.assign(url, { hostname: '127.0.0.1', port: String(port), password: encodeURIComponent(password) });

  const ask = async (question: string) => {
    const console = new URL(url);
    console.pathname = '/pgbouncer';
    const sql = postgres(console.href, { max: 1, onnotice: () => {}, fetch_types: false });
    try {
      return [...(await sql.unsafe(question).simple())];
    } finally {
      await sql.end();
    }
  };
  const { start, kill } = createDaemon(t, {
    name: 'PgBouncer',
    directory,
    launch: () => spawn(program, [join(directory, 'pgbouncer.ini')], { ...user, stdio: ['ignore', 'ignore', 'pipe'] }),
    answers: async () => (await ask('show version')).length > 0,
  });
  await start();
  return { url, start, kill, ask };
}

/** The settings in the example of the guide. */
function guideSettings(): Record<string, string> {
  const block = readGuide('docs/deployment.md').find(({ text }) => text.includes('[pgbouncer]'));
  if (!block) throw new Error('The guide has no example for PgBouncer.');
  const [, lines = ''] = block.text.split('[pgbouncer]\n');
  const pairs = lines.matchAll(/^(\w+) = (.+)$/gm);
  return Object.fromEntries([...pairs].map(([, key = '', value = '']) => [key, value]));
}
