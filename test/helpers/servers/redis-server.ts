import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Test } from 'tap';
import { createDaemon } from './daemon.js';
import { freePort } from './ports.js';

/** The reason to skip Redis tests, or false. */
export const withoutRedis =
  spawnSync('redis-server', ['--version']).status !== 0 && 'redis-server is not installed on this machine';

/** A Redis server for one test, which the test may kill. */
export interface RedisServer {
  url: string;
  /** Suspends the server: its connections stay open, but it does not respond. */
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
  /** Starts it again without data. */
  start(): Promise<void>;
  /** Queries it directly, bypassing the service. */
  ask<T>(question: (client: Redis) => Promise<T>): Promise<T>;
}

export async function startRedis(t: Test): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;

  const ask: RedisServer['ask'] = async (question) => {
    const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
    client.on('error', () => {});
    try {
      await client.connect();
      return await question(client);
    } finally {
      client.disconnect();
    }
  };
  const daemon = createDaemon(t, {
    name: 'Redis',
    directory,
    launch: () => {
      const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory];
      return spawn('redis-server', options, { stdio: 'ignore' });
    },
    answers: async () => (await ask((client) => client.ping())) === 'PONG',
  });
  await daemon.start();
  return {
    url,
    pause: () => daemon.signal('SIGSTOP'),
    resume: () => daemon.signal('SIGCONT'),
    kill: daemon.kill,
    start: daemon.start,
    ask,
  };
}
