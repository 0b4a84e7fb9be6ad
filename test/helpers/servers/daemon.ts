import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';

/** An external server for one test, which the test can kill and restart. */
export interface Daemon {
  /** Starts it, even after it was killed. @throws if it does not respond within a few seconds */
  start(): Promise<void>;
  /** Sends SIGKILL and waits until the process has ended. */
  kill(): Promise<void>;
  signal(name: NodeJS.Signals): void;
}

/**
 * Creates a daemon without starting it. When the test or the process ends, it is killed and its directory is removed.
 */
export function createDaemon(
  t: Test,
  {
    name,
    directory,
    launch,
    answers,
  }: {
    name: string;
    directory: string;
    launch(): ChildProcess;
    /** Whether it responds to requests. */
    answers(): Promise<boolean>;
  },
): Daemon {
  let child: ChildProcess | undefined;
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const killAtExit = () => child?.kill('SIGKILL');
  process.once('exit', killAtExit);
  atEndOf(t, async () => {
    await kill();
    process.removeListener('exit', killAtExit);
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    start: async () => {
      child = launch();
      let said = '';
      child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
        said += chunk;
      });
      for (let tries = 0; !(await answers().catch(() => false)); tries++) {
        if (tries > 100 || child.exitCode !== null) throw new Error(`${name} did not start: ${said}`);
        await sleep(50);
      }
    },
    kill,
    signal: (signal) => void child?.kill(signal),
  };
}
