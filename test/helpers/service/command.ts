import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { environment, type Home, type Variables } from './service.js';

/** Runs a command from `cli/` with the environment of a service. Returns its output and exit code. */
export async function runCommand(home: Home, name: string, args: readonly string[] = [], variables: Variables = {}) {
  const script = fileURLToPath(new URL(`../../../cli/${name}.js`, import.meta.url));
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, script, ...args], {
    cwd: home.directory,
    env: environment(home, variables),
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, said };
}
