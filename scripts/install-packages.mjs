// Installs the packages of a folder that has its own package.json: `node scripts/install-packages.mjs <folder>`. The commands that
// need these packages run it first. It does nothing if the packages in the lockfile are already installed.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [folder] = process.argv.slice(2);
const directory = join(fileURLToPath(new URL('..', import.meta.url)), folder);
const lockfile = join(directory, 'package-lock.json');
/** The lockfile of the last complete installation. `npm ci` deletes it together with the packages. */
const installed = join(directory, 'node_modules/.installed.json');

if (!existsSync(installed) || !readFileSync(installed).equals(readFileSync(lockfile))) {
  console.error(`Installing the packages of ${folder} …`);
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(status ?? 1);
  copyFileSync(lockfile, installed);
}
