// Writes a CycloneDX SBOM of the service: `npm run sbom [file]`. The default file is sbom.cdx.json.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const sbomFile = 'sbom.cdx.json';

/**
 * Reads package.json and the lockfile, whether or not the packages are installed. `npm sbom --omit dev` also omits packages that
 * are needed both in production and for development. So npm runs on a lockfile without the packages that only development needs.
 */
export function makeSbom() {
  const { devDependencies: _tools, ...manifest } = readJson('package.json');
  const { packages, ...lock } = readJson('package-lock.json');
  const { devDependencies: _too, ...root } = packages[''];
  const kept = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);

  const folder = mkdtempSync(join(tmpdir(), 'sbom-'));
  try {
    // npm names the SBOM after the folder that contains the project.
    const project = join(folder, manifest.name);
    mkdirSync(project);
    writeJson(join(project, 'package.json'), manifest);
    writeJson(join(project, 'package-lock.json'), { ...lock, packages: { '': root, ...Object.fromEntries(kept) } });
    const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
    const { status, stdout, stderr } = npm([...args, `--prefix=${project}`], project);
    if (status !== 0) throw new Error(`npm did not create an SBOM: ${stderr}`);
    return checked(stdout, manifest);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs npm and waits for it to exit. */
export function npm(args, cwd = process.cwd()) {
  const isWindows = process.platform === 'win32';
  return spawnSync('npm', args, { cwd, encoding: 'utf8', maxBuffer: 64_000_000, shell: isWindows });
}

/** Rejects an incomplete SBOM, which would be worse than none. */
function checked(text, { name, version, dependencies }) {
  const { dependencies: graph = [] } = JSON.parse(text);
  const direct = graph.find(({ ref }) => ref === `${name}@${version}`)?.dependsOn ?? [];
  const missing = Object.keys(dependencies).filter((wanted) => !direct.some((ref) => ref.startsWith(`${wanted}@`)));
  if (missing.length > 0) throw new Error(`The SBOM from npm lacks ${missing.join(', ')}.`);
  return text;
}

export const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));
const writeJson = (path, value) => writeFileSync(path, JSON.stringify(value));

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , file = sbomFile] = process.argv;
  writeFileSync(file, makeSbom());
  console.log(`Written: ${file}`);
}
