// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: prepares a release of a copy of the project

import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { type Answer, json, startWebServer, status } from '../helpers/servers/web-server.js';

/** The parts of package-lock.json used here. */

interface Package {
  version: string;
  dev?: boolean;
  name?: string;
}

interface Sbom {
  bomFormat: string;
  specVersion: string;
  metadata: { component: { name: string; type: string; version: string } };
  components: { 'bom-ref': string; purl: string; hashes: unknown[]; licenses: unknown[] }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const { version } = manifest;
const { packages }: { packages: Record<string, Package> } = JSON.parse(readFileSync('package-lock.json', 'utf8'));

/** Copies the files that are needed to create a release. */
function copyProject(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-release-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const name of [
    'package.json',
    'package-lock.json',
    'openapi.yaml',
    'CHANGELOG.md',
    'scripts',
    'clients',
    'tools',
  ]) {
    cpSync(name, join(folder, name), { recursive: true, filter: (path) => basename(path) !== 'node_modules' });
  }
  return folder;
}

/** Runs a script of package.json. @param registry the registry that npm uses */
async function run(folder: string, script: string[], registry = 'http://127.0.0.1:1/') {
  const { PATH, HOME } = process.env;
  const child = spawn('npm', ['run', '--silent', ...script], {
    cwd: folder,
    env: {
      PATH,
      HOME,
      npm_config_registry: registry,
      npm_config_cache: join(folder, '.npm'),
      npm_config_fetch_retries: '0',
      npm_config_update_notifier: 'false',
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise((resolve) => child.on('close', resolve));
  return { code, output };
}

const nameOf = (path: string) => path.split('node_modules/').at(-1) ?? '';

t.test('npm run sbom lists exactly the packages that the service needs', async (t) => {
  const folder = copyProject(t);
  const { code, output } = await run(folder, ['sbom']);
  t.equal(code, 0, output);
  const sbom: Sbom = JSON.parse(readFileSync(join(folder, 'sbom.cdx.json'), 'utf8'));
  t.match(sbom, { bomFormat: 'CycloneDX', specVersion: /^1\./ });
  t.match(sbom.metadata.component, { name: 'gatehouse', type: 'application', version });

  const locked = (name: string) => `${name}@${packages[`node_modules/${name}`]?.version}`;
  const direct = sbom.dependencies.find(({ ref }) => ref === `gatehouse@${version}`)?.dependsOn;
  t.strictSame(direct?.toSorted(), Object.keys(manifest.dependencies).map(locked).sort());

  const needed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
  const all = new Set(needed.map(([path, { name, version: of }]) => `${name ?? nameOf(path)}@${of}`));
  t.strictSame(sbom.components.map((component) => component['bom-ref']).sort(), [...all].sort());
  for (const { purl, hashes, licenses } of sbom.components) {
    t.match(purl, /^pkg:npm\//);
    t.ok(hashes.length > 0 && licenses.length > 0, purl);
  }
});

t.test('npm run release requires a clean audit and a changelog entry, and writes the baseline and SBOM', async (t) => {
  const folder = copyProject(t);
  let advisories: Answer = status(405);
  const asked: string[] = [];
  const registry = await startWebServer(t, (question) => {
    const { pathname } = question.url;
    if (pathname !== '/-/npm/v1/security/advisories/bulk') return status(404);
    asked.push(pathname);
    return advisories;
  });
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  const baseline = join(folder, `docs/releases/${version}.yaml`);
  const refused = async (what: RegExp, from = registry) => {
    const { code, output } = await run(folder, ['release'], `${from}/`);
    t.equal(code, 1, output);
    t.match(output, what);
    t.notOk(existsSync(baseline) || existsSync(join(folder, 'sbom.cdx.json')), 'nothing is written');
  };

  await refused(/could not be audited \(405 .*\)/);
  await refused(/could not be audited \(.*ECONNREFUSED/s, 'http://127.0.0.1:1');
  advisories = json({
    ms: [
      {
        id: 1,
        url: 'https://example.com/advisory',
        title: 'Slow',
        severity: 'high',
        vulnerable_versions: '*',
        cwe: [],
        cvss: { score: 7, vectorString: null },
      },
    ],
  });
  await refused(/npm audit reports vulnerabilities in \.:\n(?:.*\n)*? {2}ms: high/);

  advisories = json({});
  writeFileSync(join(folder, 'CHANGELOG.md'), changelog.replaceAll(`## ${version}`, '## Another'));
  await refused(/CHANGELOG.md has no heading/);
  t.equal(asked.length, 7, 'the last of these runs audits all five lockfiles');

  writeFileSync(join(folder, 'CHANGELOG.md'), `${changelog}\n## ${version} (2026-01-31)\n`);
  const { code, output } = await run(folder, ['release'], `${registry}/`);
  t.equal(code, 0, output);
  t.equal(readFileSync(baseline, 'utf8'), readFileSync('openapi.yaml', 'utf8'), 'the baseline for later versions');
  t.ok(existsSync(join(folder, 'sbom.cdx.json')));
});
