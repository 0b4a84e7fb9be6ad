import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';

const root = fileURLToPath(new URL('../../../..', import.meta.url));

/** The variables for commands in an example, without those with which tap and npm configure their child processes. */
export const exampleEnvironment = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(NODE_|TAP|npm_(?!config_))/.test(name))),
  NEXT_TELEMETRY_DISABLED: '1',
};
const npm = (args: string[], cwd: string) => spawnSync('npm', args, { cwd, env: exampleEnvironment, encoding: 'utf8' });

/** The reason to skip the tests of the examples, which have their own packages. */
export const cannotInstall =
  npm(['view', 'vite', 'version', '--fetch-retries=0'], root).status !== 0 && 'the npm registry is unavailable';

/** Copies an example to a new folder, and installs its packages there. */
export function installExample(t: Test, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `gatehouse-${name}-`));
  atEndOf(t, async () => rmSync(folder, { recursive: true, force: true }));
  const created = /(node_modules|\.next|dist|package-lock\.json)$/;
  cpSync(join(root, 'examples', name), folder, { recursive: true, filter: (path) => !created.test(path) });
  runNpm(t, folder, ['install', '--no-audit', '--no-fund']);
  return folder;
}

export function runNpm(t: Test, folder: string, args: string[]): void {
  const { status, stdout, stderr } = npm(args, folder);
  t.equal(status, 0, `npm ${args.join(' ')}`, { output: `${stdout}${stderr}` });
  t.notMatch(`${stdout}${stderr}`, /\bwarn/i, `npm ${args.join(' ')} prints no warning`);
}
