// @suite embedded-only: reads the sources

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import t from 'tap';

/** The parts of package.json and package-lock.json used here. */
interface Manifest {
  allowScripts?: Record<string, boolean>;
}
interface Package {
  dev?: boolean;
  hasInstallScript?: boolean;
  resolved?: string;
  integrity?: string;
}

const read = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8'));
/** The folders that have their own packages, with the packages that have an install script. None of these scripts has to run. */
const withScripts: Record<string, string[]> = {
  '.': ['esbuild'],
  clients: ['esbuild'],
  'tools/console-model': [],
  'tools/lint': [],
  'tools/lint-openapi': [],
  'tools/migrations': ['esbuild'],
};

t.test('every folder with packages of its own is listed', async (t) => {
  const found = spawnSync('git', ['ls-files', '*package-lock.json'], { encoding: 'utf8' }).stdout.trim().split('\n');
  t.strictSame(found.map(dirname).sort(), Object.keys(withScripts).sort());
  const release = readFileSync('scripts/release.mjs', 'utf8');
  for (const folder of Object.keys(withScripts)) t.match(release, `'${folder}'`, 'a release audits it');
});

for (const [folder, expected] of Object.entries(withScripts)) {
  t.test(`the packages of ${folder}`, async (t) => {
    const { packages } = read<{ packages: Record<string, Package> }>(`${folder}/package-lock.json`);
    const list = Object.entries(packages).filter(([path]) => path !== '');
    const names = list.flatMap(([path, { hasInstallScript }]) =>
      hasInstallScript ? path.slice(path.lastIndexOf('node_modules/') + 13) : [],
    );
    t.strictSame(
      [...new Set(names)],
      expected,
      'a package with an install script, which may report to third parties, is reviewed',
    );
    const { allowScripts = {} } = read<Manifest>(`${folder}/package.json`);
    t.strictSame(
      allowScripts,
      Object.fromEntries(expected.map((name) => [name, false])),
      'npm runs none of these scripts',
    );
    const unpinned = list.filter(([, { resolved, integrity }]) => resolved || !integrity);
    t.strictSame(unpinned, [], 'every package is pinned by its hash, and no registry is named');
  });
}
