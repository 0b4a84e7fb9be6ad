import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Test } from 'tap';
import { freePort } from './ports.js';
import { atEndOf } from './teardown.js';

/** Why tests of Redis are skipped; false: they are not. */
export const withoutRedis =
  spawnSync('redis-server', ['--version']).status !== 0 && 'there is no redis-server on this machine';

/** A Redis of a test's own, to be lost. */
export interface RedisServer {
  url: string;
  /** Answers nothing from now on, and keeps its connections. */
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
  /** The same again, with nothing in it. */
  start(): Promise<void>;
  /** Asks it something, past the service. */
  ask<T>(question: (client: Redis) => Promise<T>): Promise<T>;
}

export async function startRedis(t: Test): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;

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
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const start = async () => {
    const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory];
    child = spawn('redis-server', options, { stdio: 'ignore' });
    for (let tries = 0; ; tries++) {
      const answer = await ask((client) => client.ping()).catch(() => undefined);
      if (answer === 'PONG') return;
      if (tries > 100) throw new Error('Redis does not start.');
      await sleep(50);
    }
  };
  const killAtExit = () => child?.kill('SIGKILL');
  process.once('exit', killAtExit);
  atEndOf(t, async () => {
    await kill();
    process.removeListener('exit', killAtExit);
    rmSync(directory, { recursive: true, force: true });
  });
  await start();
  return {
    url,
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    kill,
    start,
    ask,
  };
}
