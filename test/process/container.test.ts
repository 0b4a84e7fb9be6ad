// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: builds the service as the container image does

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import t from 'tap';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, startService } from '../helpers/service/service.js';

/** The instructions of the Containerfile, each as a single line. */
const instructions = readFileSync('Containerfile', 'utf8')
  .replaceAll(/\\\n\s*/g, ' ')
  .split('\n')
  .filter((line) => /^[A-Z]+ /.test(line));
const argumentsOf = (name: string) =>
  instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
const commandIn = (text = '') => JSON.parse(text.slice(text.indexOf('['))) as [string, ...string[]];

/** The build context: .dockerignore excludes everything except what it names. */
const context = readFileSync('.dockerignore', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('!'));

/** The names of the packages in a folder, such as `fastify` and `@fastify/cors`. */
const packagesIn = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(folder, name)).map((part) => `${name}/${part}`) : [name],
  );

t.test('the Containerfile builds a complete service with a health check that stops properly', async (t) => {
  t.match(readFileSync('.dockerignore', 'utf8'), /^\*$/m);
  const root = mkdtempSync(join(tmpdir(), 'gatehouse-image-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const build = join(root, 'build');
  const image = join(root, 'image');
  mkdirSync(build);
  for (const line of context) cpSync(line.slice(1), join(build, line.slice(1)), { recursive: true });
  // Installing packages requires a network; the modules installed here contain everything needed, and more.
  symlinkSync(resolve('node_modules'), join(build, 'node_modules'));
  const steps = argumentsOf('RUN').filter((step) => step.startsWith('node '));
  t.equal(steps.length, 1);
  for (const step of steps) {
    const { status, stderr } = spawnSync('env', ['-u', 'NODE_OPTIONS', 'bash', '-ec', step], {
      cwd: build,
      encoding: 'utf8',
    });
    t.strictSame([status, stderr], [0, '']);
  }
  mkdirSync(image);
  const copied = argumentsOf('COPY').filter((line) => line.startsWith('--from=build '));
  for (const line of copied) {
    const [, source = '', target = ''] = line.split(' ');
    const path = source.replace('/gatehouse/', '');
    cpSync(join(build, path), join(image, target === './' ? path : target), { recursive: true });
  }
  t.strictSame(copied.length, 3);
  // Like the image, this folder lacks the packages that only the build needs.
  const [, removed = ''] =
    argumentsOf('RUN')
      .join('\n')
      .match(/npm uninstall (.*)/) ?? [];
  const modules = join(image, 'node_modules');
  rmSync(modules);
  for (const name of packagesIn('node_modules')) {
    if (removed.split(' ').includes(name)) continue;
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(resolve('node_modules', name), join(modules, name));
  }

  const home = await createHome(t, { prepared: true });
  const port = String(await freePort());
  const variables = Object.fromEntries(
    argumentsOf('ENV').flatMap((line) => line.split(' ').map((pair) => pair.split('='))),
  );
  const isHealthy = () => {
    const check = commandIn(argumentsOf('HEALTHCHECK')[0]);
    const env = { PATH: process.env.PATH, PORT: port };
    return spawnSync('env', ['-u', 'NODE_OPTIONS', ...check], { env }).status === 0;
  };
  t.notOk(isHealthy(), 'the service is not yet running');
  const [program, file = ''] = commandIn(argumentsOf('CMD')[0]);
  t.equal(program, 'node');
  const dataDir = join(home.directory, 'data');
  const service = await startService(home, { ...variables, DATA_DIR: dataDir, PORT: port }, join(image, file));
  t.ok(isHealthy());
  t.equal((await service.get('/server/health')).status, 200);
  t.equal((await service.get('/account/login')).status, 200, 'the files of the pages are present');
  t.strictSame(await service.stop(), { code: 0, signal: null });
  t.notOk(isHealthy());
});
