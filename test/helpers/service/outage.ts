import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { startProxy } from '../servers/proxy.js';
import { startTlsFront } from '../servers/tls-front.js';
import { createHome, type Home, logIn, type Service, startService } from './service.js';
import { cheapHashing } from './variables.js';

export const password = 'the password';
export const variables = { ...cheapHashing, ADMIN_PASSWORD: password };

/** Starts a service behind a database proxy, with a pool of two connections, which is quickly exhausted. */
export async function startBehindProxy(t: Test, sslmode = 'disable') {
  const home = await createHome(t);
  const url = databaseUrl(home);
  const server = { host: url.hostname, port: Number(url.port || 5432) };
  const isEncrypted = sslmode !== 'disable';
  const target = isEncrypted ? { host: '127.0.0.1', port: await startTlsFront(t, server) } : server;
  const proxy = await startProxy(t, target);
  url.port = String(proxy.port);
  url.hostname = '127.0.0.1';
  if (isEncrypted) url.searchParams.set('sslmode', sslmode);
  const service = await startService(home, { ...variables, DATABASE_POOL_MAX: '2', DATABASE_URL: url.href });
  return { home, proxy, service };
}

/** Asserts that the service recovers quickly and permanently without intervention. */
export async function recovers(
  t: Test,
  service: Service,
  token: Record<string, string>,
  within = 4_000,
): Promise<void> {
  const start = performance.now();
  for (;;) {
    const { status } = await service.get('/users/me', token);
    if (status === 200) break;
    if (performance.now() - start > within) break;
    await sleep(50);
  }
  t.comment(`recovered after ${Math.round(performance.now() - start)} ms`);
  const answers = await Promise.all(Array.from({ length: 20 }, () => service.get('/users/me', token)));
  t.strictSame([...new Set(answers.map(({ status }) => status))], [200]);
  t.equal((await logIn(service, password)).status, 200);
  await healthIsFresh();
  t.equal((await service.get('/server/health')).status, 200);
}

export const databaseUrl = (home: Home) => new URL(home.variables.DATABASE_URL ?? '');

/** Waits until the health check queries the database again instead of repeating a result from the last second. */
export const healthIsFresh = () => sleep(1_100);
