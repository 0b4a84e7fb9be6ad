// Turns the TypeScript sources into `dist/`: file by file for tests and scripts, and `dist/server.js` in one file with what it
// needs of its libraries, for to find and read more than a thousand files is what a start would take most of its time for.
// Types are checked by `npm run typecheck`; here they are only taken away.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const folders = ['schemas', 'db', 'plugins', 'routes', 'scripts', 'test', 'bench']
  // A container is built without the tests and measurements.
  .filter((folder) => existsSync(join(root, folder)));
/** What the service reads besides its code. */
const assets = [
  'db/migrations',
  'locales',
  'pages/templates',
  'plugins/mail/templates',
  'plugins/mail/mailbox/templates',
];
/** What the pages load in the browser: each a bundle of its own. */
const browserEntryPoints = ['visitor.ts', 'signed-in.ts', 'account.css'];
const outdir = join(root, 'dist');

const sources = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .map((entry) => join(entry.parentPath, entry.name)),
);
const entryPoints = [join(root, 'app.ts'), ...sources];

/** What older libraries expect to be there. */
const commonJs = `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;`;

const { outputFiles } = await build({
  entryPoints,
  outbase: root,
  outdir,
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  sourcemap: true,
  logLevel: 'warning',
  write: false,
});
const { outputFiles: serviceFiles } = await build({
  entryPoints: [join(root, 'server.ts')],
  outdir,
  bundle: true,
  // They have files of their own besides code: binaries, WebAssembly, pages.
  external: ['@electric-sql/pglite', '@fastify/swagger-ui', '@node-rs/argon2', 'fs-native-extensions'],
  banner: { js: commonJs },
  plugins: [
    { name: 'places', setup: keepPlaces },
    { name: 'later', setup: leaveForLater },
  ],
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  sourcemap: true,
  legalComments: 'none',
  // What is not read need not be kept; names are left, for the stacks of errors.
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 160,
  logLevel: 'warning',
  write: false,
});
const { outputFiles: browserFiles } = await build({
  entryPoints: browserEntryPoints.map((name) => join(root, 'pages/browser', name)),
  outdir: join(outdir, 'pages/assets'),
  bundle: true,
  minify: true,
  platform: 'browser',
  target: 'es2022',
  format: 'esm',
  legalComments: 'inline',
  logLevel: 'warning',
  write: false,
});
for (const { path, contents } of [...outputFiles, ...browserFiles]) writeIfChanged(path, contents);
for (const { path, text } of serviceFiles)
  writeIfChanged(path, Buffer.from(path.endsWith('.js') ? inAscii(text) : text));
copyIfChanged('package.json');
for (const folder of assets) copyIfChanged(folder);
removeOrphans();

/** Lets modules find the files beside them although they are all in one file. */
function keepPlaces({ onLoad }) {
  onLoad({ filter: /\.ts$/ }, ({ path }) => {
    if (path.includes('node_modules')) return;
    const place = relative(root, path).replace(/\.ts$/, '.js');
    const text = readFileSync(path, 'utf8').replaceAll('import.meta.url', `new URL('${place}', import.meta.url).href`);
    return { contents: text, loader: 'ts' };
  });
}

/** What a start loads only if it is asked for stays outside, where the first build, or its package, has put it. */
function leaveForLater({ onLoad, onResolve }) {
  onResolve({ filter: /^\.\/sdk\.js$/ }, ({ kind, resolveDir }) => {
    if (kind !== 'dynamic-import') return;
    return { path: `./${join(relative(root, resolveDir), 'sdk.js').replaceAll('\\', '/')}`, external: true };
  });
  // The query builder, which is loaded on demand itself, imports the embedded database: the bundle would do so at its start.
  onResolve({ filter: /^@electric-sql\/pglite$/ }, ({ kind, path }) =>
    kind === 'import-statement' ? { path, namespace: 'later' } : undefined,
  );
  onLoad({ filter: /./, namespace: 'later' }, ({ path }) => ({
    contents: `const { PGlite, types } = await import('${path}'); export { PGlite, types };`,
  }));
}

/**
 * The bundler escapes what is not ASCII, but for regular expressions. One such character, and V8 keeps the whole text of several
 * megabytes with two bytes for each character.
 */
function inAscii(text) {
  return text.replaceAll(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Leaves alone what is right, and replaces the rest at a stroke: another service may be starting from here just now. */
function writeIfChanged(path, contents) {
  if (existsSync(path) && readFileSync(path).equals(contents)) return;
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, contents);
  renameSync(draft, path);
}

/** Copies a file to the same place under `dist/`; or all files of a folder, which has no others then. */
function copyIfChanged(path) {
  const source = join(root, path);
  if (!statSync(source).isDirectory()) return writeIfChanged(join(outdir, path), readFileSync(source));
  const entries = readdirSync(source);
  for (const entry of entries) copyIfChanged(join(path, entry));
  const target = join(outdir, path);
  for (const entry of readdirSync(target))
    if (!entries.includes(entry)) rmSync(join(target, entry), { recursive: true });
}

/** Deletes what an earlier build left behind of sources that are gone, so that no stale test runs. */
function removeOrphans() {
  const made = [...serviceFiles, ...browserFiles].map(({ path }) => relative(outdir, path));
  const kept = new Set([...entryPoints.map((file) => relative(root, file).replace(/\.ts$/, '.js')), ...made]);
  for (const entry of readdirSync(outdir, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const source = relative(outdir, file).replace(/\.map$/, '');
    if (entry.isFile() && source.endsWith('.js') && !kept.has(source)) rmSync(file);
  }
}
