// Checks that clients generated from openapi.yaml compile and work with a running service: `npm run test:clients`.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'clients/generated');
/** The orval clients that are tested. */
const orval = ['fetch', 'axios', 'react-query'];
const journeys = ['openapi-fetch', 'hey-api', 'swagger-typescript-api', ...orval.map((client) => `orval-${client}`)];
const administrator = { email: 'admin@example.com', password: 'the password of the administrator' };

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const bin = (name) => join(root, 'clients/node_modules/.bin', name);
const generators = [
  [bin('openapi-typescript'), 'openapi.yaml', '-o', 'clients/generated/schema.ts'],
  [
    bin('openapi-ts'),
    '-i',
    'openapi.yaml',
    '-o',
    'clients/generated/hey-api',
    '-c',
    '@hey-api/client-fetch',
    '--silent',
  ],
  [
    bin('swagger-typescript-api'),
    'generate',
    '-p',
    'openapi.yaml',
    '-o',
    'clients/generated/swagger-typescript-api',
    '-n',
    'api.ts',
    '--generate-union-enums',
    '--silent',
  ],
  ...orval.map((client) => [
    bin('orval'),
    ...['-i', 'openapi.yaml', '-o', `clients/generated/orval-${client}/api.ts`, '--client', client],
  ]),
];
await timed('generated', () => Promise.all(generators.map(([command, ...args]) => run(command, args))));
await timed('compiled under strict', () => run(join(root, 'node_modules/typescript-7/bin/tsc'), ['-p', 'clients']));

const outdir = join(folder, 'dist');
await build({
  entryPoints: [...journeys, 'guide'].map((name) => join(root, 'clients', `${name}.ts`)),
  outdir,
  bundle: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  outExtension: { '.js': '.mjs' },
  logLevel: 'warning',
});

const { url, stop } = await start();
try {
  for (const name of journeys) {
    const { journey } = await import(pathToFileURL(join(outdir, `${name}.mjs`)).href);
    await timed(name, () => journey(url, administrator));
  }
  process.env.GATEHOUSE_URL = url;
  const { addressesIn, logIn } = await import(pathToFileURL(join(outdir, 'guide.mjs')).href);
  await logIn(administrator.email, administrator.password);
  const found = await addressesIn('example.com');
  if (found.join() !== administrator.email) throw new Error(`The example of the guide found ${found}`);
} finally {
  await stop();
}
console.log(`${journeys.length} passed, 0 failed`);

async function timed(what, work) {
  const begin = performance.now();
  const result = await work();
  console.log(`${what} (${((performance.now() - begin) / 1000).toFixed(1)} s)`);
  return result;
}

function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${command} ${args.join(' ')}:\n${output}`)),
    );
  });
}

/** Starts the service with a temporary data directory. */
async function start() {
  const built = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: 'inherit' });
  if (built.status !== 0) process.exit(1);
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-clients-'));
  const child = spawn(process.execPath, ['dist/server.js'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      HOST: '127.0.0.1',
      PORT: '0',
      DATA_DIR: directory,
      ADMIN_EMAIL: administrator.email,
      ADMIN_PASSWORD: administrator.password,
    },
  });
  const ended = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout })) {
    const { listening } = JSON.parse(line);
    if (!listening) continue;
    child.stdout.resume();
    const stop = async () => {
      child.kill();
      await ended;
      rmSync(directory, { recursive: true, force: true });
    };
    return { url: listening, stop };
  }
  throw new Error('The service did not start.');
}
