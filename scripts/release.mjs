// Prepares a release to be committed: `npm run release`, as described in docs/releasing.md. Exits with 1 at the first problem,
// before anything is written.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { makeSbom, npm, readJson, sbomFile } from './sbom.mjs';

const { version } = readJson('package.json');
/** The folders that have a lockfile. */
const folders = ['.', 'clients', 'tools/console-model', 'tools/lint', 'tools/lint-openapi', 'tools/migrations'];
try {
  for (const folder of folders) requireAudit(folder);
  requireChangelog();
  const sbom = makeSbom();
  mkdirSync('docs/releases', { recursive: true });
  copyFileSync('openapi.yaml', `docs/releases/${version}.yaml`);
  writeFileSync(sbomFile, sbom);
} catch (error) {
  console.error(`Version ${version} cannot be released. ${error.message}`);
  process.exit(1);
}
console.log(`Commit docs/releases/${version}.yaml, tag v${version}, and add ${sbomFile} to the release.`);

/** No dependency may have a known vulnerability. An audit that could not run is a failure, too. */
function requireAudit(folder) {
  const { stdout, stderr } = npm(['audit', '--json', '--package-lock-only'], folder);
  const report = parsed(stdout);
  const counts = report?.metadata?.vulnerabilities;
  if (counts === undefined) {
    const reason = report?.message ?? report?.error?.summary ?? stderr;
    throw new Error(
      `The dependencies could not be audited (${reason}). Run this on a machine where npm audit can reach the registry.`,
    );
  }
  const found = Object.entries(report.vulnerabilities).map(([name, { severity }]) => `  ${name}: ${severity}`);
  if (found.length > 0) throw new Error(`npm audit reports vulnerabilities in ${folder}:\n${found.join('\n')}`);
}

function requireChangelog() {
  const heading = `## ${version}`;
  const isThere = readFileSync('CHANGELOG.md', 'utf8')
    .split('\n')
    .some((line) => line === heading || line.startsWith(`${heading} `));
  if (!isThere) throw new Error(`CHANGELOG.md has no heading "${heading}".`);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
