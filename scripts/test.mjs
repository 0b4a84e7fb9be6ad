// Runs tests and ends with a one-line summary: `node scripts/test.mjs embedded|postgres|process|browser|long [--everyday] [files]`. A
// file is named as in `sessions/login`, or by its path. `embedded` and `postgres` run the suite on the respective engine. `process` runs
// the tests that start and kill services in separate processes. `browser` runs the tests that need a browser; on PostgreSQL if it is
// available, because that starts faster. `long` runs the long form of the tests that have one (`test/helpers/long.ts`). `process` and
// `long` use the embedded engine or that of TEST_ENGINE. `--everyday` leaves out the tests that try hundreds of cases or are slow.
// Which suite a file belongs to is declared in the file (`scripts/suites.ts`).
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { failuresIn } from './test-report.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const [suite = 'embedded', ...more] = process.argv.slice(2);
const isEveryday = more.includes('--everyday');
const options = more.filter((argument) => argument.startsWith('--') && argument !== '--everyday');
const chosen = more.filter((argument) => !argument.startsWith('--'));
const { TEST_ENGINE: wanted = 'embedded' } = process.env;
const engine =
  { browser: process.env.DATABASE_URL ? 'postgres' : 'embedded', process: wanted, long: wanted }[suite] ?? suite;
const jobs = Number(process.env.TEST_JOBS ?? availableParallelism() + 1);
/** How many failures, and how many lines of each, are repeated at the end. */
const maxFailures = 20;
const maxDetails = 40;
/** The last error output of the tests, for failures outside of a test. */
let errorOutput = '';

if (engine === 'postgres' && !process.env.DATABASE_URL) {
  console.error('Set DATABASE_URL to a PostgreSQL server on which the tests can create databases, for example:');
  console.error('  DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres npm run test:postgres');
  process.exit(2);
}

if (run(['scripts/build.mjs']).status !== 0) {
  console.error('\nThe sources cannot be built: see the errors above. No test has run.');
  process.exit(1);
}
mkdirSync(`${root}.tmp`, { recursive: true });
const report = `${root}.tmp/${suite}.tap`;
rmSync(report, { force: true });
// tap rebuilds itself when its set of plugins has changed, but only for the run after the next.
const built = readFileSync(`${root}node_modules/@tapjs/test/test-built/dist/esm/index.js`, 'utf8');
if (/"@tapjs\/(typescript|mock)"/.test(built)) run(['node_modules/tap/dist/esm/run.mjs', 'build']);
const { declaredBy, testsOf } = await import('../dist/scripts/suites.js');
const testFiles = chosen.length > 0 ? chosen.map(fileOf) : filesOf(suite);
/** A single file needs no runner: its process writes the report. This saves a second or two. */
const isDirect = testFiles.length === 1 && options.length === 0 && !runsAlone(testFiles[0]);
const status = await runFiles(testFiles);
const missing = status === 0 && chosen.length === 0 ? await missingProofs() : [];

const lines = existsSync(report) ? readFileSync(report, 'utf8') : '';
// The files that ran in a process of their own have not been listed yet.
for (const [, name, ms] of lines.matchAll(/^(?:not )?ok \d+ - dist\/test\/(\S+) # time=([\d.]+)ms/gm))
  console.log(`[alone] ${name} (${(ms / 1_000).toFixed(1)} s)`);
const totals = lines.match(/^# \{ (.*) \}$/gm)?.at(-1) ?? '';
const count = (name) => Number(totals.match(new RegExp(`\\b${name}: (\\d+)`))?.[1] ?? 0);
// Repeat the failures at the end, where they are easy to find.
const failures = failuresIn(lines, { isDirect });
for (const { path, location, details } of failures.slice(0, maxFailures)) {
  console.log(`\n✖ ${path}${location ? `\n  at ${location}` : ''}`);
  for (const line of details.slice(0, maxDetails)) console.log(`  ${line}`);
}
if (failures.length > maxFailures) console.log(`\n… and ${failures.length - maxFailures} more failures: see ${report}`);
if (status !== 0 && (failures.length === 0 || failures.some(({ isProcess }) => isProcess))) {
  console.log(`\nA process failed outside of a test. The end of its error output:\n${errorOutput}`);
}
if (missing.length > 0) {
  console.log(
    '\nThese lines of docs/conformance.md have not been proved. If tests have moved or operations are new, run npm run conformance.',
  );
  console.log(missing.join('\n'));
}
console.log(`\nEngine: ${engine}`);
console.log(`${count('pass')} passed, ${count('fail') || Number(status !== 0)} failed, ${count('skip')} skipped`);
process.exit(missing.length > 0 ? 1 : status);

/** Outcomes that the document declares but that no test of the suite has received (`docs/conformance.md`). */
async function missingProofs() {
  if (engine !== suite || isEveryday) return [];
  const { missingProofs } = await import('../dist/scripts/conformance.js');
  const otherEngine = engine === 'embedded' ? 'postgres' : 'embedded';
  const runsHere = (file) => !existsSync(`${root}${file}`) || !declaredBy(file).has(`${otherEngine}-only`);
  return missingProofs(suite, runsHere);
}

/** Starts slightly more processes than there are cores; they take the files from a queue. */
async function runFiles(all) {
  const alone = all.filter(runsAlone);
  const files = all.filter((file) => !alone.includes(file));
  const queue = mkdtempSync(`${root}.tmp/queue-`);
  process.once('exit', () => rmSync(queue, { recursive: true, force: true }));
  const workers = Array.from({ length: Math.min(jobs, files.length) }, (_, index) =>
    join(queue, `worker-${index + 1}.mjs`),
  );
  for (const worker of workers) writeFileSync(worker, `import '../../scripts/test-worker.mjs';\n`);
  const outcomes = `${root}.tmp/outcomes/${suite}`;
  if (chosen.length === 0) rmSync(outcomes, { recursive: true, force: true });
  mkdirSync(outcomes, { recursive: true });
  const said = new Set();
  const sayFinished = () => {
    for (const name of readdirSync(queue).filter((name) => name.endsWith('.done') && !said.has(name))) {
      said.add(name);
      console.log(`[${said.size}/${files.length}] ${readFileSync(join(queue, name), 'utf8')}`);
    }
  };
  const progress = setInterval(sayFinished, 500);
  const environment = {
    ...(chosen.length === 0 && { TEST_OUTCOMES: outcomes }),
    TEST_QUEUE: queue,
    TEST_FILES: files.join('\n'),
  };
  // The timeout is that of .taprc.
  const status = isDirect
    ? await start(workers, { ...environment, TAP_TIMEOUT: '1200' }, openSync(report, 'w'))
    : await tap(['--reporter=silent', ...options, ...workers, ...alone], environment);
  clearInterval(progress);
  sayFinished();
  return status;
}

/** The compiled file of a test. @param name such as `sessions/login`, or its path in `test/` or `dist/test/` */
function fileOf(name) {
  const stem = name.replace(/^(dist\/)?test\//, '').replace(/\.(test|browser)\.[jt]s$/, '');
  const files = ['test', 'browser'].map((kind) => join('dist/test', `${stem}.${kind}.js`));
  const file = files.find((path) => existsSync(`${root}${path}`));
  if (file) return file;
  console.error(`There is no test file test/${stem}.test.ts.`);
  process.exit(2);
}

/** Larger files first, so that the processes finish at about the same time. */
function filesOf(suite) {
  return testsOf({ suite, engine, isEveryday })
    .map((source) => join('dist', source.replace(/\.ts$/, '.js')))
    .sort((a, b) => statSync(b).size - statSync(a).size);
}

function runsAlone(file) {
  return declaredBy(sourceOf(file)).has('alone');
}

function sourceOf(file) {
  return file.replace(/^dist\//, '').replace(/\.js$/, '.ts');
}

/** Runs tap. By default it would leave one core unused, which is half of a small machine. */
function tap(args, environment) {
  return start(
    ['node_modules/tap/dist/esm/run.mjs', `--jobs=${jobs}`, `--output-file=${report}`, ...args],
    environment,
    'inherit',
  );
}

function start(args, environment, output) {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['inherit', output, 'pipe'],
    env: { ...environmentOf(), TEST_ENGINE: engine, ...(suite === 'long' && { TEST_LONG: 'true' }), ...environment },
  });
  child.stderr.on('data', (chunk) => {
    process.stderr.write(chunk);
    errorOutput = `${errorOutput}${chunk}`.slice(-5_000);
  });
  return new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1)));
}

function run(args) {
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env: environmentOf() });
}

function environmentOf() {
  return { ...process.env, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --enable-source-maps` };
}
