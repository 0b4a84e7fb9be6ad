import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';
import { freePort } from '../servers/ports.js';
import { environment, type Home, serverFile, type Variables } from './service.js';

const { stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' });

/** The reason to skip tests that need a terminal, or false. */
export const withoutTerminals = !stdout?.includes('util-linux') && 'there is no `script` of util-linux on this machine';

/** A service that was started on a terminal of its own. */
export interface TerminalService {
  readonly url: string;
  readonly pid: number;
  /** What the terminal shows. */
  readonly screen: string;
  /** Closes the terminal, as a user closes a window. */
  closeTerminal(): void;
  /** The exit status; undefined if the process does not end within the time. */
  ended(milliseconds: number): Promise<number | undefined>;
}

/**
 * Starts a service on a pseudo-terminal and waits until it responds.
 * @param options.input what the process reads from; by default, it is the terminal
 */
export async function startOnTerminal(
  t: Test,
  home: Home,
  { variables = {}, input }: { variables?: Variables; input?: string } = {},
): Promise<TerminalService> {
  const port = await freePort();
  const [pidFile, statusFile] = ['pid', 'status'].map((name) => join(home.directory, `terminal-${port}-${name}`)) as [
    string,
    string,
  ];
  // The shell outlives the terminal to report how the service ended.
  const run = `sh -c 'echo $$ >"${pidFile}"; exec "${process.execPath}" "${serverFile}"'${input ? ` <${input}` : ''}`;
  const command = `trap '' HUP; ${run}; echo $? >"${statusFile}.draft"; mv "${statusFile}.draft" "${statusFile}"`;
  const terminal = spawn('env', ['-u', 'NODE_OPTIONS', 'script', '--quiet', '--command', command, '/dev/null'], {
    cwd: home.directory,
    env: { ...environment(home, { PORT: String(port), ...variables }), SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let screen = '';
  terminal.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    screen += chunk;
  });
  const pid = () => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0);
  atEndOf(t, () => {
    terminal.kill('SIGKILL');
    if (pid() > 0 && !existsSync(statusFile)) spawnSync('kill', ['-KILL', String(pid())]);
  });
  const url = `http://127.0.0.1:${port}`;
  const isReady = () =>
    fetch(`${url}/server/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  for (const end = performance.now() + 90_000; !(await isReady()); await sleep(50)) {
    if (performance.now() > end || existsSync(statusFile)) throw new Error(`The service did not start: ${screen}`);
  }
  return {
    url,
    get pid() {
      return pid();
    },
    get screen() {
      return screen;
    },
    closeTerminal: () => void terminal.kill('SIGKILL'),
    ended: async (milliseconds) => {
      for (const end = performance.now() + milliseconds; performance.now() < end; await sleep(20)) {
        if (existsSync(statusFile)) return Number(readFileSync(statusFile, 'utf8'));
      }
      return undefined;
    },
  };
}
