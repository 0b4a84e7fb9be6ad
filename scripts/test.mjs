// Runs the test suite on one engine and closes with one line of numbers: `node scripts/test.mjs embedded|postgres [files]`.
// `browser` runs the tests that need one, on the embedded engine.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [suite = 'embedded', ...chosen] = process.argv.slice(2);
const engine = suite === 'browser' ? 'embedded' : suite;

if (engine === 'postgres' && !process.env.DATABASE_URL) {
  console.error('Set DATABASE_URL to a PostgreSQL on which databases may be created, for example:');
  console.error('  DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres npm run test:postgres');
  process.exit(2);
}

run(['scripts/build.mjs']);
mkdirSync(`${root}.tmp`, { recursive: true });
const report = `${root}.tmp/${suite}.tap`;
const files =
  chosen.length > 0 ? chosen : [suite === 'browser' ? 'dist/test/**/*.browser.js' : 'dist/test/**/*.test.js'];
rmSync(report, { force: true });
// tap is put together anew when its plugins are others than before, but only for the run after the next.
const built = readFileSync(`${root}node_modules/@tapjs/test/test-built/dist/esm/index.js`, 'utf8');
if (/"@tapjs\/(typescript|mock)"/.test(built)) run(['node_modules/tap/dist/esm/run.mjs', 'build']);
// tap itself would leave a core free, which on a small machine is half of it.
const options = ['--reporter=terse', `--jobs=${availableParallelism()}`, `--output-file=${report}`];
const { status } = run(['node_modules/tap/dist/esm/run.mjs', ...options, ...files], { TEST_ENGINE: engine });

const lines = existsSync(report) ? readFileSync(report, 'utf8') : '';
const totals = lines.match(/^# \{ (.*) \}$/gm)?.at(-1) ?? '';
const count = (name) => Number(totals.match(new RegExp(`\\b${name}: (\\d+)`))?.[1] ?? 0);
// Once more at the end, where they are found: the single checks that failed, without the tests around them.
const failures = lines
  .split(/^(?=\s*not ok )/m)
  .filter((part) => /^\s*not ok /.test(part) && !/^\s*not ok .*# time=/.test(part));
for (const failure of failures.slice(0, 20)) console.log(`\n${failure.split('\n').slice(0, 30).join('\n')}`);
console.log(`\nEngine: ${engine}`);
console.log(`${count('pass')} passed, ${count('fail')} failed, ${count('skip')} skipped`);
process.exit(status ?? 1);

function run(args, environment = {}) {
  return spawnSync(process.execPath, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --enable-source-maps`, ...environment },
  });
}
