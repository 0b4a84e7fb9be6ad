import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';

/** A shell that runs blocks in sequence, so that variables set in one block are available in the next. */
export interface Shell {
  /** Runs commands and returns their output. @throws if a command fails, or if they take longer than a minute */
  run(commands: string): Promise<string>;
}

const timeoutMs = 60_000;

/** Starts a bash that stops at the first failure, including failures in a pipe, and at unset variables. */
export function startShell(t: Test, directory: string, variables: Readonly<Record<string, string>>): Shell {
  const { PATH, HOME } = process.env;
  // tap injects itself into every child process through NODE_OPTIONS, but these commands should run as they do for
  // readers of the guide.
  const shell = spawn('env', ['-u', 'NODE_OPTIONS', 'bash', '--norc', '-eu', '-o', 'pipefail'], {
    cwd: directory,
    env: { PATH, HOME, LC_ALL: 'C.UTF-8', ...variables },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  t.teardown(() => shell.kill('SIGKILL'));
  let written = '';
  let onOutput = () => {};
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      written += chunk;
      onOutput();
    });
  }
  // Writing to a shell that has ended fails. Its `close` event reports the end.
  shell.stdin.on('error', () => {});

  return {
    run: (commands) =>
      new Promise((resolve, reject) => {
        const end = randomUUID();
        written = '';
        const timer = setTimeout(() => reject(new Error(`Timed out:\n${commands}\n${written}`)), timeoutMs);
        const settle = (work: () => void) => {
          clearTimeout(timer);
          shell.removeListener('close', onClose);
          onOutput = () => {};
          work();
        };
        const onClose = (code: number | null) =>
          settle(() => reject(new Error(`Failed with exit code ${code}:\n${commands}\n${written}`)));
        shell.once('close', onClose);
        onOutput = () => {
          const index = written.indexOf(end);
          if (index >= 0) settle(() => resolve(written.slice(0, index)));
        };
        // Commands that read their input must not read the commands that follow.
        shell.stdin.write(`{\n${commands}\n} </dev/null\nprintf %s ${end}\n`);
      }),
  };
}
