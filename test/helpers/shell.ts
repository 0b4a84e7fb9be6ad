import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';

/** A shell that runs one block after another, so that variables set in one block are available in the next. */
export interface Shell {
  /** Runs commands. @returns their output; @throws when one of them fails, or takes longer than a minute */
  run(commands: string): Promise<string>;
}

const patience = 60_000;

/** Starts a bash that stops at the first failure, including one in a pipe, and at an unset variable. */
export function startShell(t: Test, directory: string, variables: Readonly<Record<string, string>>): Shell {
  const { PATH, HOME } = process.env;
  // tap injects itself into every child process through NODE_OPTIONS; these commands should run as they do for a
  // reader.
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
  // Writing to a shell that has ended fails; its `close` event reports the end.
  shell.stdin.on('error', () => {});

  return {
    run: (commands) =>
      new Promise((resolve, reject) => {
        const end = randomUUID();
        written = '';
        const giveUp = setTimeout(() => reject(new Error(`It takes too long:\n${commands}\n${written}`)), patience);
        const settle = (work: () => void) => {
          clearTimeout(giveUp);
          shell.removeListener('close', onClose);
          onOutput = () => {};
          work();
        };
        const onClose = (code: number | null) =>
          settle(() => reject(new Error(`It fails with ${code}:\n${commands}\n${written}`)));
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
