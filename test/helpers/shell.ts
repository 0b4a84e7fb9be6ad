import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';

/** A shell in which one block after the other is run, so that what one of them sets is there in the next. */
export interface Shell {
  /** Runs commands. @returns what they write; @throws when one of them fails, or takes longer than a minute */
  run(commands: string): Promise<string>;
}

const patience = 60_000;

/** Starts a bash that stops at the first failure, also of a part of a pipe, and at a variable that was never set. */
export function startShell(t: Test, directory: string, variables: Readonly<Record<string, string>>): Shell {
  const { PATH, HOME } = process.env;
  // tap puts itself into every child process by NODE_OPTIONS; what is run here is to be as it is for a reader.
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
  // A shell that has ended takes no more commands; that it has is told by its end.
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
        // What reads its input must not read the commands that come next.
        shell.stdin.write(`{\n${commands}\n} </dev/null\nprintf %s ${end}\n`);
      }),
  };
}
