// @suite embedded-only: hardly depends on the engine

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { loadTexts } from '../../plugins/pages/texts.js';

/** The kit and the applications. The API reference has no texts of its own. */
const folders = readdirSync('pages').filter((folder) => existsSync(`pages/${folder}/templates`));
const languages = readdirSync('locales').map((file) => file.replace('.json', ''));
/** Prefixes of the texts that scripts can use. */
const forScripts = /^(error|fault|status|action|choice)_/;

const textsOf = (folder: string, tag = 'en-US'): Record<string, string> =>
  JSON.parse(readFileSync(`pages/${folder}/texts/${tag}.json`, 'utf8'));

/** The content of all files of an application with an ending. */
const codeOf = (folder: string, ending: RegExp): string =>
  readdirSync(`pages/${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((file) => ending.test(file))
    .map((file) => readFileSync(join('pages', folder, file), 'utf8'))
    .join('\n');

const sources = new Map(
  folders.map((folder) => [folder, { scripts: codeOf(folder, /\.tsx?$/), templates: codeOf(folder, /\.liquid$/) }]),
);
const sourcesOf = (folder: string) => sources.get(folder) ?? { scripts: '', templates: '' };

/** Applications whose scripts write the whole page. The types of their scripts check that every text that they name exists. */
const isWrittenByScripts = (folder: string) => existsSync(`pages/${folder}/start.tsx`);

/** The keys that templates and scripts name. */
function namedKeys(folder: string): string[] {
  const { scripts, templates } = sourcesOf(folder);
  const inTemplates = [...templates.matchAll(/\bt\.(\w+)/g)].map(([, key = '']) => key);
  const quoted = [...scripts.matchAll(/['"](\w+)['"]/g)].map(([, key = '']) => key);
  if (!isWrittenByScripts(folder)) return [...inTemplates, ...quoted.filter((key) => forScripts.test(key))];
  const known = { ...textsOf('kit'), ...textsOf(folder) };
  const counted = quoted.flatMap((key) => [key, `${key}_one`, `${key}_other`]);
  return [...inTemplates, ...counted.filter((key) => key in known)];
}

/** The parts of keys that are put together, such as `['status_', '']` for `status_${notice}`. What is between the parts varies. */
function keyPatterns(folder: string): string[][] {
  const { scripts, templates } = sourcesOf(folder);
  const inScripts = [...scripts.matchAll(/`(\w*(?:\$\{\w+\}\w*)+)`/g)].map(([, text = '']) => text.split(/\$\{\w+\}/));
  const inTemplates = [...templates.matchAll(/assign \w+ = ([\w.']+(?: \| append: [\w.']+)+)/g)].map(([, text = '']) =>
    text
      .split(' | append: ')
      .map((part) => (part.startsWith("'") ? part.slice(1, -1) : '\0'))
      .join('')
      .split('\0'),
  );
  // Texts about a number of things have a key for each plural form.
  const counted = isWrittenByScripts(folder)
    ? inScripts.flatMap((parts) => ['_one', '_other'].map((form) => [...parts.slice(0, -1), `${parts.at(-1)}${form}`]))
    : [];
  return [...inScripts, ...counted, ...inTemplates];
}

/** Whether a key consists of the parts of a pattern, with known words between them. */
function fits(key: string, [part = '', ...others]: readonly string[], words: ReadonlySet<string>): boolean {
  if (!key.startsWith(part)) return false;
  const rest = key.slice(part.length);
  if (others.length === 0) return rest === '';
  return [...rest].some(
    (_, index) => words.has(rest.slice(0, index + 1)) && fits(rest.slice(index + 1), others, words),
  );
}

t.test('the kit and every application have the same texts in all languages, with the same placeholders', async (t) => {
  const placeholders = (text = '') => (text.match(/\{\w+\}/g) ?? []).sort();
  t.ok(languages.length > 1 && folders.length > 1);
  for (const folder of folders) {
    const english = textsOf(folder);
    for (const tag of languages) {
      const texts = textsOf(folder, tag);
      t.strictSame(Object.keys(texts), Object.keys(english), `${folder} ${tag}: the same keys in the same order`);
      for (const [key, text] of Object.entries(texts)) {
        t.ok(text.trim(), `${folder} ${tag} ${key}`);
        t.strictSame(placeholders(text), placeholders(english[key]), `${folder} ${tag} ${key}`);
      }
    }
  }
});

t.test('every text that a template or a script names exists, in its application or in the kit', async (t) => {
  for (const folder of folders) {
    const known = { ...textsOf('kit'), ...textsOf(folder) };
    const missing = namedKeys(folder).filter((key) => !(key in known));
    t.strictSame(missing, [], folder);
  }
});

t.test('the service does not start if files with texts are missing, and names all of them', async (t) => {
  const paths = folders.flatMap((folder) => ['aa-AA', 'bb-BB'].map((tag) => `pages/${folder}/texts/${tag}.json`));
  t.throws(() => loadTexts(['en-US', 'aa-AA', 'bb-BB']), {
    message: `Files with texts are missing: ${paths.join(', ')}`,
  });
});

t.test('no application replaces a text of the kit', async (t) => {
  const shared = textsOf('kit');
  for (const folder of folders.filter((name) => name !== 'kit')) {
    const replaced = Object.keys(textsOf(folder)).filter((key) => key in shared);
    t.strictSame(replaced, [], folder);
  }
});

t.test('every text is used', async (t) => {
  const errorCodes = readFileSync('schemas/errors.ts', 'utf8');
  for (const folder of folders) {
    // Any application can use the texts of the kit, and the kit puts together the keys of an application's errors.
    const users = folder === 'kit' ? folders : [folder, 'kit'];
    const named = new Set(users.flatMap(namedKeys));
    const patterns = users.flatMap(keyPatterns);
    const onServer = `plugins/pages/${folder}.ts`;
    const serverCode = existsSync(onServer) ? readFileSync(onServer, 'utf8') : '';
    for (const [, key = ''] of serverCode.matchAll(/\bt\.(\w+)/g)) named.add(key);
    const code = users
      .flatMap((user) => Object.values(sourcesOf(user)))
      .concat(serverCode)
      .join('\n');
    // The parts that vary are written as strings or numbers somewhere.
    const words = new Set(`${code}\n${errorCodes}`.match(/(?<=['"`])[\w-]+(?=['"`])|\b\d+\b|\b[A-Z][A-Z_]+\b/g));
    const unused = Object.keys(textsOf(folder)).filter(
      (key) => !named.has(key) && !patterns.some((pattern) => fits(key, pattern, words)),
    );
    t.strictSame(unused, [], folder);
  }
});

t.test('the texts have one spelling of email', async (t) => {
  const { mail } = JSON.parse(readFileSync('locales/en-US.json', 'utf8'));
  const ofMails = Object.values(mail).flatMap((section) => Object.values(section as object));
  const ofPages = folders.flatMap((folder) => Object.values(textsOf(folder)));
  t.notMatch(JSON.stringify([ofMails, ofPages]), /e-mail|\bmail\b/i);
});
