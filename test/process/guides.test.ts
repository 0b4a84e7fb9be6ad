import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';
import t, { type Test } from 'tap';
import { loadConfig } from '../../plugins/platform/config.js';
import { engine } from '../helpers/database/databases.js';
import { type Block, isAsShown, jsonValues, readGuide } from '../helpers/project/guide.js';
import { startShell } from '../helpers/project/shell.js';
import { freePort } from '../helpers/servers/ports.js';
import { createHome, type Service, startService, type Variables } from '../helpers/service/service.js';

const inDocs = ['docs', 'docs/guides'].flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
const guides = ['README.md', 'CONTRIBUTING.md', ...inDocs].filter((name) => name.endsWith('.md'));
/** Other languages that a guide may contain. They are checked elsewhere, or contain no commands. */
const otherLanguages = new Set(['', 'liquid', 'nginx', 'caddyfile', 'ini', 'sql', 'yaml', 'haproxy']);
const configuration = readFileSync('docs/configuration.md', 'utf8');

for (const guide of guides) {
  t.test(`${guide}: its blocks are valid, and its commands work as shown`, async (t) => {
    const blocks = readGuide(guide);
    for (const block of blocks) checkForm(t, block);
    const mine = blocks.filter((block) => block.engine === undefined || block.engine === engine);
    const isRun = ({ language, notRun, file }: Block) =>
      (language === 'sh' || language === 'ts') && notRun === undefined && file === undefined;
    // A guide without commands for PostgreSQL is the same on both engines, so it runs only once.
    const isForThisEngine = engine === 'embedded' || blocks.some((block) => block.engine === engine);
    if (isForThisEngine && mine.some(isRun))
      await runAll(
        t,
        mine.filter((block) => isRun(block) || block.restart),
      );
  });
}

/** Checks a block without running it. */
function checkForm(t: Test, { language, text, place, restart, sample, file }: Block): void {
  if (file !== undefined) {
    t.ok(readFileSync(file, 'utf8').includes(text), `${place}: the block is identical to ${file}`);
  } else if (language === 'sh') {
    const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' });
    t.equal(status, 0, `${place}: ${stderr}`);
  } else if (language === 'dotenv') {
    const variables = variablesIn(text);
    t.doesNotThrow(() => loadConfig({ ...neededVariables, ...variables }), place);
    for (const name of Object.keys(variables))
      t.ok(isDescribed(name), `${place}: ${name} is a variable of the service`);
  } else if (language === 'ts') {
    t.doesNotThrow(() => transformSync(text, { loader: 'ts', format: 'esm' }), place);
  } else if (sample && language === 'json') {
    t.doesNotThrow(() => jsonValues(text), place);
  } else {
    t.ok(sample || otherLanguages.has(language), `${place}: no test checks blocks in "${language}"`);
  }
  t.ok(!restart || language === 'dotenv', `${place}: a block that restarts the service must set variables`);
}

const neededVariables = { DATA_DIR: '/nowhere', SECRET: 'a secret for tests, long enough to be taken' };

/** The variables as a shell reads them, including quotes. */
function variablesIn(text: string): Record<string, string> {
  const script = `set -a\n${text}\nexec env -0`;
  const { stdout } = spawnSync('env', ['-i', `PATH=${process.env.PATH}`, 'bash', '--norc', '-c', script], {
    encoding: 'utf8',
  });
  const pairs = stdout.split('\0').map((line) => /^([A-Z][A-Z0-9_]+)=(.*)$/s.exec(line));
  const all = Object.fromEntries(pairs.flatMap((pair) => (pair ? [[pair[1] ?? '', pair[2] ?? '']] : [])));
  const { PATH: _path, PWD: _pwd, SHLVL: _level, OLDPWD: _old, ...variables } = all;
  return variables;
}

const isDescribed = (name: string): boolean =>
  [name, name.replace(/^AUTH_[A-Z0-9]+_/, 'AUTH_<P>_')].some((written) =>
    configuration.includes(`| \`${written}\` |`),
  ) ||
  // A variable of Node.js.
  name === 'NODE_EXTRA_CA_CERTS';

/** Runs the blocks of a guide in order, in one shell, against a new service. */
async function runAll(t: Test, blocks: readonly Block[]): Promise<void> {
  const home = await createHome(t, { prepared: true });
  const port = String(await freePort());
  let variables: Variables = { PORT: port };
  let service = await startService(home, variables);
  const { password = '' } = service;
  // Values that a reader inserts, and addresses that differ on this machine. Each start prints another key.
  const standIns = (): [written: string, meant: string][] => [
    ['http://localhost:8055', `http://localhost:${port}`],
    ['the password that was printed', password],
    ['the key that was printed', keyOf(service)],
  ];
  const adapted = (text: string) =>
    standIns().reduce((known, [written, meant]) => known.replaceAll(written, meant), text);

  const shell = startShell(t, home.directory, home.variables);
  await shell.run(oathtool);
  for (const block of blocks) {
    const text = adapted(block.text);
    if (block.whileStopped || block.restart) await service.stop();
    if (block.restart) variables = { ...variables, ...variablesIn(text) };
    else await runOne(t, block, adapted, block.language === 'ts' ? runModule : shell.run);
    if (block.whileStopped || block.restart) service = await startService(home, variables);
  }
  await service.stop();
}

/** The key of the mailbox, as printed at startup. */
const keyOf = ({ announcement }: Service): string =>
  new URL(String(announcement.mailbox ?? 'http://none')).searchParams.get('key') ?? '';

/** Runs a block, and compares its output with the guide. */
async function runOne(
  t: Test,
  { text, place, answer }: Block,
  adapted: (text: string) => string,
  run: (text: string) => string | Promise<string>,
): Promise<void> {
  try {
    const written = await run(adapted(text));
    const shown = answer && { ...answer, text: adapted(answer.text) };
    if (shown && !isAsShown(shown, written)) t.equal(written, shown.text, `${place}: the output matches the guide`);
    else t.pass(place);
  } catch (error) {
    t.fail(place, { error: String(error) });
  }
}

/** Replaces the program `oathtool --totp --base32 SECRET`, which may not be installed. */
const oathtool = `oathtool() { node -e '
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...process.argv[1]].map((letter) => letters.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30000)));
  const digest = require("node:crypto").createHmac("sha1", key).update(counter).digest();
  const code = digest.readUInt32BE(digest.at(-1) & 15) & 0x7fffffff;
  console.log(String(code % 1000000).padStart(6, "0"));
' "$3"; }`;

/** A module can import its libraries only from inside this project. */
function runModule(text: string): string {
  const folder = '.tmp/guides';
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${process.pid}.mjs`);
  writeFileSync(file, transformSync(text, { loader: 'ts', format: 'esm' }).code);
  try {
    const { status, stdout, stderr } = spawnSync('env', ['-u', 'NODE_OPTIONS', process.execPath, file], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  } finally {
    rmSync(file);
  }
}
