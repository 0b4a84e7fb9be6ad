// Runs tests and ends with a one-line summary: `node scripts/test.mjs embedded|postgres|process|browser|long [--everyday] [files]`. A
// file is named as in `sessions/login`, or by its path. `embedded` and `postgres` run the suite on the respective engine. `process` runs
// the tests that start and kill services in separate processes. `browser` runs the tests that need a browser; on PostgreSQL if it is
// available, because that starts faster. `long` runs the long form of the tests that have one (`test/helpers/runner/long.ts`). `process` and
// `long` use the embedded engine or that of TEST_ENGINE. `--everyday` leaves out the tests that try hundreds of cases or are slow.
// Other options are passed to tap.
//
// tap runs the tests, and its parser reads the report. This script does what tap cannot do: it selects files by what they declare
// (`scripts/suites.ts`), runs several files in each process (`scripts/test-worker.mjs`), and checks `docs/conformance.md` at the end.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Parser } from 'tap-parser';

const root = fileURLToPath(new URL('..', import.meta.url));
const tap = 'node_modules/tap/dist/esm/run.mjs';
const [suite = 'embedded', ...more] = process.argv.slice(2);
const isEveryday = more.includes('--everyday');
const options = more.filter((argument) => argument.startsWith('--') && argument !== '--everyday');
const chosen = more.filter((argument) => !argument.startsWith('--'));
const { TEST_ENGINE: wanted = 'embedded' } = process.env;
const engine =
  { browser: process.env.DATABASE_URL ? 'postgres' : 'embedded', process: wanted, long: wanted }[suite] ?? suite;
/** By default, tap leaves one core unused, which is half of a small machine. */
const jobs = Number(process.env.TEST_JOBS ?? availableParallelism() + 1);
const maxFailures = 20;

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
// tap rebuilds itself when its set of plugins has changed, but only for the run after the next.
const built = readFileSync(`${root}node_modules/@tapjs/test/test-built/dist/esm/index.js`, 'utf8');
if (/"@tapjs\/(typescript|mock)"/.test(built)) run([tap, 'build']);

const { declaredBy, testsOf } = await import('../dist/scripts/suites.js');
const report = `${root}.tmp/${suite}.tap`;
const status = await runFiles(chosen.length > 0 ? chosen.map(fileOf) : filesOf(suite));
const lines = readFileSync(report, 'utf8');
if (status !== 0) printFailures();
const missing = status === 0 && chosen.length === 0 ? await missingProofs() : [];
if (missing.length > 0) {
  console.log(
    '\nThese lines of docs/conformance.md have not been proved. If tests have moved or operations are new, run npm run conformance.',
  );
  console.log(missing.join('\n'));
}
const totals = lines.match(/^# \{ (.*) \}$/gm)?.at(-1) ?? '';
const count = (name) => Number(totals.match(new RegExp(`\\b${name}: (\\d+)`))?.[1] ?? 0);
console.log(`\nEngine: ${engine}`);
console.log(`${count('pass')} passed, ${count('fail') || Number(status !== 0)} failed, ${count('skip')} skipped`);
process.exit(missing.length > 0 ? 1 : status);

/** Prints the failures where they are easy to find: at the end, without the tests that passed. tap's own reporters redraw the screen. */
function printFailures() {
  const failures = Parser.parse(lines, { flat: true }).filter(
    ([event, result]) => event === 'assert' && !result.ok && !result.todo,
  );
  const text = Parser.stringify(failures.slice(0, maxFailures));
  console.log(`\n${text.replaceAll(/ \.tmp\/queue-\w+\/worker-\d+\.mjs >/g, '')}`);
  if (failures.length > maxFailures) console.log(`… and ${failures.length - maxFailures} more failures: see ${report}`);
  if (failures.length === 0) console.log('The process failed outside of a test: see the errors above.');
}

/** Outcomes that the document declares but that no test of the suite has received (`docs/conformance.md`). */
async function missingProofs() {
  if (engine !== suite || isEveryday) return [];
  const { missingProofs } = await import('../dist/scripts/conformance.js');
  const otherEngine = engine === 'embedded' ? 'postgres' : 'embedded';
  const runsHere = (file) => !existsSync(`${root}${file}`) || !declaredBy(file).has(`${otherEngine}-only`);
  return missingProofs(suite, runsHere);
}

/** Starts slightly more processes than there are cores; they take the files from a queue. */
async function runFiles(files) {
  const queue = mkdtempSync(`${root}.tmp/queue-`);
  process.once('exit', () => rmSync(queue, { recursive: true, force: true }));
  const shared = files.filter((file) => !needsOwnProcess(file));
  const lists = [
    ...Array.from({ length: Math.min(jobs, shared.length) }, () => shared),
    ...files.filter(needsOwnProcess).map((file) => [file]),
  ];
  const workers = lists.map((list, index) => {
    const worker = join(queue, `worker-${index + 1}.mjs`);
    const args = `${JSON.stringify(list)}, ${JSON.stringify({ queue, total: files.length })}`;
    const code = `import { runTestFiles } from '../../scripts/test-worker.mjs';\nawait runTestFiles(${args});\n`;
    writeFileSync(worker, code);
    return worker;
  });
  const outcomes = `${root}.tmp/outcomes/${suite}`;
  if (chosen.length === 0) rmSync(outcomes, { recursive: true, force: true });
  mkdirSync(outcomes, { recursive: true });
  const environment = {
    TEST_ENGINE: engine,
    ...(suite === 'long' && { TEST_LONG: 'true' }),
    ...(chosen.length === 0 && { TEST_OUTCOMES: outcomes }),
  };
  // A single process needs no runner, which takes two seconds to start. The timeout is that of .taprc.
  return workers.length === 1 && options.length === 0
    ? start(['--enable-source-maps', ...workers], { ...environment, TAP_TIMEOUT: '1200' })
    : start([tap, '--reporter=tap', `--jobs=${jobs}`, ...options, ...workers], environment);
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

function needsOwnProcess(file) {
  return declaredBy(file.replace(/^dist\//, '').replace(/\.js$/, '.ts')).has('own-process');
}

/** Runs a program that writes TAP, and keeps this report. */
function start(args, environment) {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['inherit', openSync(report, 'w'), 'inherit'],
    env: { ...process.env, ...environment },
  });
  return new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1)));
}

function run(args) {
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
}
