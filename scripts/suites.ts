// Which test files a run includes. What is special about a test file is declared in its first lines, with a reason:
// `// @suite not-everyday: tries hundreds of cases`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const words = [
  // When all tests run, the file runs on this engine only: it hardly depends on the engine, or the other one lacks what it needs.
  'embedded-only',
  'postgres-only',
  // `--everyday` leaves the file out: it tries hundreds of cases, measures what something costs, or waits a long time.
  'not-everyday',
  // `--everyday` runs the file on the embedded engine. The other process tests run on PostgreSQL, where services start faster.
  'everyday-on-embedded',
  // The file runs only in `npm run test:long`, or when it is named.
  'long-only',
  // The file shares its process with no other: it measures time or memory, or tests a fresh start.
  'own-process',
] as const;

type Word = (typeof words)[number];

type Engine = 'embedded' | 'postgres';

export interface Run {
  suite: Engine | 'process' | 'browser' | 'long';
  engine: Engine;
  isEveryday: boolean;
}

/** The test files that a run includes when none are named. */
export const testsOf = (run: Run): string[] =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:test|browser)\.ts$/.test(name))
    .map((name) => join('test', name))
    .filter((file) => isIncluded(file, run));

function isIncluded(file: string, { suite, engine, isEveryday }: Run): boolean {
  const source = readFileSync(file, 'utf8');
  const declared = declaredIn(source, file);
  if (declared.has(engine === 'embedded' ? 'postgres-only' : 'embedded-only')) return false;

  const isLongOnly = declared.has('long-only');
  const isProcessTest = file.startsWith('test/process/');
  const isBrowserTest = file.endsWith('.browser.ts');
  const isRestOfSuite = !isProcessTest && !isBrowserTest && !isLongOnly;
  const isInSuite = {
    embedded: isRestOfSuite,
    postgres: isRestOfSuite,
    process: isProcessTest && !isLongOnly,
    browser: isBrowserTest,
    // Tests that have a long form get it from this helper.
    long: isLongOnly || /from '\S*\/long\.js'/.test(source),
  }[suite];
  if (!isInSuite || !isEveryday) return isInSuite;

  const isEverydayOnEmbedded = declared.has('embedded-only') || declared.has('everyday-on-embedded');
  const everydayEngine = isEverydayOnEmbedded ? 'embedded' : 'postgres';
  return !declared.has('not-everyday') && (suite !== 'process' || engine === everydayEngine);
}

/** What the test file at a path declares. */
export const declaredBy = (file: string): ReadonlySet<Word> => declaredIn(readFileSync(file, 'utf8'), file);

/** @throws if a declaration is not in the first lines, has no reason, or is unknown */
export function declaredIn(source: string, file: string): ReadonlySet<Word> {
  const declarations = source.match(/^ *(?:\/\/|\/?\*).*@suite\b.*$/gm) ?? [];
  const firstLines = source.split('\n').slice(0, declarations.length);
  return new Set(
    declarations.map((line) => {
      const [, name, reason] = line.match(/^\/\/ @suite ([^:]*):?(.*)$/) ?? [];
      const word = words.find((word) => word === name);
      if (!firstLines.includes(line)) throw new Error(`${file}: move this line to the top of the file: ${line}`);
      if (!word) throw new Error(`${file}: expected "// @suite", and one of ${words.join(', ')}: ${line}`);
      if (!reason?.trim()) throw new Error(`${file}: expected a reason after "${word}:": ${line}`);
      return word;
    }),
  );
}
