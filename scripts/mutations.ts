// Applies each of the faults in `test/mutations` to a copy of the tree, and runs the tests that must detect it:
// `npm run test:mutations [part of an id, of a file or of a fault …]`. A fault survives if no test with its advisory in the title
// detects it; no fault may survive. Faults that only PostgreSQL reveals require DATABASE_URL and are skipped without it.
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isTitleOf, titledTests } from '../test/helpers/project/advisories.js';
import { openSources } from '../test/helpers/project/code-search.js';
import { mutations } from '../test/mutations/index.js';
import type { Edit, Engine, Mutation } from '../test/mutations/mutation.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const wanted = process.argv.slice(2);
const { DATABASE_URL } = process.env;
const sourcesOfService = openSources(root);
const matching = mutations.filter(({ ids, fault, edits, tests }) => {
  if (wanted.length === 0) return true;
  const files = edits.flatMap((edit) => sourcesOfService.places(edit).map(({ file }) => file));
  const text = [...ids, fault, ...files, ...tests].join('\n');
  return wanted.some((part) => text.includes(part));
});
const chosen = matching.filter(({ engine }) => engine !== 'postgres' || DATABASE_URL);
const titled = titledTests(root);
/** Tests that have failed for at least one fault. */
const seen = new Set<(typeof titled)[number]>();
/** Time limit for one test file, in milliseconds. */
const mutationTimeoutMs = 240_000;
const workspaces = mkdtempSync(join(tmpdir(), 'gatehouse-mutations-'));
const running = new Set<ChildProcess>();

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(workspaces, { recursive: true, force: true });
});

interface Run {
  isGreen: boolean;
  /** The titles of the tests that failed. */
  red: string[];
  output: string;
}

/** A copy of the tree to work on: the sources, and files that are faster to copy than to create. */
function makeWorkspace(number: number): string {
  const copy = join(workspaces, String(number));
  const leftOut = new Set(['node_modules', '.git', '.tmp', 'data']);
  cpSync(root, copy, { recursive: true, filter: (path) => !leftOut.has(basename(path)) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  mkdirSync(join(copy, '.tmp'));
  for (const name of readdirSync(join(root, '.tmp')).filter((file) => file.endsWith('.tar'))) {
    cpSync(join(root, '.tmp', name), join(copy, '.tmp', name));
  }
  return copy;
}

function runNode(
  workspace: string,
  args: readonly string[],
  engine: Engine = 'embedded',
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, args, { cwd: workspace, env: environment(engine) });
  running.add(child);
  const timer = setTimeout(() => child.kill('SIGKILL'), mutationTimeoutMs);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(timer);
      running.delete(child);
      resolve({ code, output });
    });
  });
}

/** The environment selects one engine and inherits none of the shell's settings for the service. */
function environment(engine: Engine): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  // TAP_TIMEOUT is in seconds. It is generous, because tests are slow on a busy machine, and one that times out detects nothing.
  const variables = {
    PATH,
    HOME,
    TMPDIR,
    TEST_ENGINE: engine,
    TEST_LONG: 'true',
    TAP_TIMEOUT: String(mutationTimeoutMs / 1000),
  };
  return engine === 'postgres' ? { ...variables, DATABASE_URL } : variables;
}

async function test(workspace: string, source: string, engine?: Engine): Promise<Run> {
  const { code, output } = await runNode(workspace, [join('dist', source.replace(/\.ts$/, '.js'))], engine);
  const red = [...output.matchAll(/^\s*not ok \d+ - (.*?)(?: # time=\S+)?(?: \{)?$/gm)].map(([, title = '']) => title);
  return { isGreen: code === 0 && red.length === 0, red, output };
}

const build = (workspace: string) => runNode(workspace, ['scripts/build.mjs']);

/** Applies a fault. @returns `fault`: why it cannot be applied; `undo`: a function that reverts it */
function apply(workspace: string, edits: readonly Edit[]): { fault?: string; undo(): void } {
  const sources = openSources(workspace);
  const originals = new Map<string, string>();
  const undo = () => {
    for (const [path, text] of originals) writeFileSync(path, text);
  };
  try {
    for (const { replace, ...code } of edits) {
      const { file, text } = sources.replace(code, replace);
      const path = join(workspace, file);
      if (!originals.has(path)) originals.set(path, readFileSync(path, 'utf8'));
      writeFileSync(path, text);
    }
    return { undo };
  } catch (error) {
    return { fault: (error as Error).message, undo };
  }
}

/** @returns why the fault survives; undefined when the tests have detected it */
async function survives(workspace: string, { ids, edits, tests, engine }: Mutation): Promise<string | undefined> {
  const { fault, undo } = apply(workspace, edits);
  try {
    if (fault !== undefined) return `it can no longer be applied: ${fault}`;
    const built = await build(workspace);
    if (built.code !== 0) return `it cannot be built: ${built.output.slice(0, 500)}`;
    const untitled = ids.filter((id) => !titled.some((one) => tests.includes(one.file) && one.ids.includes(id)));
    const misses = untitled.map((id) => `none of its tests has ${id} in a title`);
    for (const source of tests) {
      const { red, isGreen, output } = await test(workspace, source, engine);
      const seeing = titled.filter((one) => one.file === source && red.some((title) => isTitleOf(one, title)));
      for (const one of seeing) seen.add(one);
      const expected = ids.filter((id) => titled.some((one) => one.file === source && one.ids.includes(id)));
      const unseen = expected.filter((id) => !seeing.some((one) => one.ids.includes(id)));
      // For a file without any of the advisories, a failure of any of its tests counts.
      const isSeen = expected.length === 0 ? red.length > 0 : unseen.length === 0;
      if (isSeen) continue;
      const instead = isGreen
        ? 'it is green'
        : red.length > 0
          ? `red is ${red.slice(0, 5).join('; ')}`
          : output.slice(-500);
      misses.push(`${source} does not see it${ids.length > 0 ? ` as ${unseen.join(', ')}` : ''}: ${instead}`);
    }
    return misses.length > 0 ? misses.join('\n  ') : undefined;
  } finally {
    undo();
  }
}

/** Processes all items, one at a time in each workspace. */
async function inParallel<T>(items: readonly T[], work: (workspace: string, item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  await Promise.all(
    copies.map(async (workspace) => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(workspace, item);
    }),
  );
}

const start = performance.now();
const seconds = () => `${Math.round((performance.now() - start) / 1000)} s`;
const sources = [
  ...new Map(
    chosen.flatMap(({ tests, engine }) => tests.map((source) => [`${source} ${engine}`, { source, engine }])),
  ).values(),
];
if (matching.length === 0) throw new Error(`No fault matches ${wanted.join(' or ')}.`);
mkdirSync(join(root, '.tmp'), { recursive: true });
const copies = Array.from({ length: Math.min(availableParallelism(), chosen.length) }, (_, number) =>
  makeWorkspace(number),
);

// A test that fails without a fault detects nothing.
const redWithoutFault: string[] = [];
let tested = 0;
await inParallel(sources, async (workspace, { source, engine }) => {
  const run = await test(workspace, source, engine);
  if (!run.isGreen) redWithoutFault.push(`${source}: ${run.red.slice(0, 5).join('; ') || run.output.slice(-500)}`);
  console.log(`[${++tested}/${sources.length}] ${source}, without a fault: ${run.isGreen ? 'green' : 'RED'}`);
});

const survivors: string[] = [];
let done = 0;
await inParallel(chosen, async (workspace, mutation) => {
  const why = await survives(workspace, mutation);
  const what = [mutation.ids.join(', '), mutation.fault].filter(Boolean).join(': ');
  if (why !== undefined) survivors.push(`${what}\n  ${why}`);
  console.log(`[${++done}/${chosen.length}] ${what}: ${why === undefined ? 'seen' : 'SURVIVES'} (${seconds()})`);
});

for (const { fault } of matching.filter((one) => !chosen.includes(one)))
  console.log(`Skipped without DATABASE_URL: ${fault}`);
const unseen = wanted.length > 0 ? [] : titled.filter((one) => !seen.has(one));
for (const { file, title } of unseen) console.log(`\nNever red: ${file}: ${title}`);
for (const line of redWithoutFault) console.log(`\nRed without a fault: ${line}`);
console.log(
  `\n${chosen.length} faults, ${chosen.length - survivors.length} seen. Survivors: ${survivors.length || 'none'}`,
);
for (const survivor of survivors) console.log(`- ${survivor}`);
process.exit(survivors.length + redWithoutFault.length + unseen.length > 0 ? 1 : 0);
