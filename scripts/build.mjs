// Compiles the TypeScript sources to `dist/`: file by file for tests and scripts. For the service, everything that each start needs is
// also bundled into `dist/server.js`, because finding and reading more than a thousand files would take most of the start time. What only
// some installations or requests need is in `dist/chunk-*.js`, and is loaded on demand with `import()`.
// Types are checked by `npm run typecheck`; this script only removes them. It compiles only what has changed since the last build.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const folders = ['schemas', 'db', 'plugins', 'routes', 'cli', 'scripts', 'test', 'bench']
  // The container image is built without the tests and benchmarks.
  .filter((folder) => existsSync(join(root, folder)));
/** Folders of `pages/`. */
const applications = readdirSync(join(root, 'pages'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'kit')
  .map(({ name }) => name);
/** What a page loads. An application whose scripts write the whole page starts with `start.tsx`. */
const sourcesOf = (name) => {
  const isWrittenByScripts = existsSync(join(root, `pages/${name}/start.tsx`));
  return [`pages/${name}/start.${isWrittenByScripts ? 'tsx' : 'ts'}`, `pages/${name}/style.css`];
};
const browserSources = applications.flatMap(sourcesOf);
const missing = browserSources.filter((path) => !existsSync(join(root, path)));
if (missing.length > 0) {
  console.error(
    `Every application in pages/ needs start.ts and style.css. These files are missing: ${missing.join(', ')}`,
  );
  process.exit(1);
}
/** The files, other than code, that the service reads. */
const assets = [
  'db/migrations',
  'locales',
  ...['kit', ...applications]
    .flatMap((name) => [`pages/${name}/templates`, `pages/${name}/texts`])
    .filter((path) => existsSync(join(root, path))),
  'plugins/mail/templates',
  'plugins/mail/mailbox/templates',
];
const outdir = join(root, 'dist');

const sources = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .map((entry) => join(entry.parentPath, entry.name)),
);
const entryPoints = [join(root, 'app.ts'), join(root, 'services.ts'), ...sources];

// What the last build was made from, and what it made. A file is compiled again if either has changed since.
const tools = ['scripts/build.mjs', 'package-lock.json', 'tsconfig.json'];
const modules = entryPoints.map((file) => relative(root, file));
const sourceNames = ['server.ts', ...modules];
const record = join(outdir, 'build.json');
const last = existsSync(record) ? JSON.parse(readFileSync(record, 'utf8')) : {};
const hasChanged = (name) => stateOf(name) !== last[name];
const outdated = tools.some(hasChanged) ? sourceNames : sourceNames.filter(hasChanged);
const isInService = (name) => !/^(?:test|cli|scripts|bench)\//.test(name);

/** Globals that older CommonJS libraries expect. */
const commonJs = `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;`;

const { outputFiles } = await build({
  entryPoints: outdated.filter((name) => name !== 'server.ts').map((name) => join(root, name)),
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
  entryPoints: outdated.some(isInService) ? [join(root, 'server.ts')] : [],
  outdir,
  bundle: true,
  splitting: true,
  // Beside the entry point: see `keepPlaces`.
  chunkNames: 'chunk-[hash]',
  // The first three packages contain files other than code: binaries and WebAssembly. The last one stores the names of its classes, which
  // the bundler would change.
  external: ['@electric-sql/pglite', '@node-rs/argon2', 'fs-native-extensions', 'oidc-provider'],
  banner: { js: commonJs },
  plugins: [
    { name: 'places', setup: keepPlaces },
    { name: 'named exports', setup: keepNamedExports },
  ],
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  sourcemap: true,
  legalComments: 'none',
  // Remove what nobody reads, but keep the names for stack traces.
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 160,
  logLevel: 'warning',
  write: false,
});
const isWrittenByScripts = (path) => existsSync(join(root, dirname(path), 'start.tsx'));
const [onePage, parts] = [false, true].map((kind) =>
  browserSources.filter((path) => isWrittenByScripts(path) === kind),
);
const inBrowser = {
  outbase: root,
  outdir,
  bundle: true,
  minify: true,
  platform: 'browser',
  target: 'es2022',
  format: 'esm',
  legalComments: 'inline',
  logLevel: 'warning',
  write: false,
};
const [{ outputFiles: browserFiles }, { outputFiles: partFiles }] = await Promise.all([
  build({ ...inBrowser, entryPoints: onePage.map((path) => join(root, path)) }),
  // Each screen of such an application is a part that the browser loads when it is first shown.
  build({
    ...inBrowser,
    entryPoints: parts.map((path) => join(root, path)),
    splitting: true,
    chunkNames: 'pages/console/part-[hash]',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    alias: { react: 'preact/compat' },
  }),
]);
browserFiles.push(...partFiles);
browserFiles.push({ path: join(outdir, 'pages/reference/scalar.js'), contents: Buffer.from(readReferenceScript()) });
for (const { path, contents } of outputFiles) writeIfChanged(path, contents);
for (const { path, contents } of browserFiles) writeWithCompressed(path, contents);
for (const { path, text } of serviceFiles)
  writeIfChanged(path, Buffer.from(path.endsWith('.js') ? inAscii(text) : text));
const states = [...tools, ...sourceNames].map((name) => [name, stateOf(name)]);
writeIfChanged(record, Buffer.from(JSON.stringify(Object.fromEntries(states))));
copyIfChanged('package.json');
for (const folder of assets) copyIfChanged(folder);
removeOrphans();

/** The compiled file of a source, relative to `dist/`. */
function outputOf(name) {
  return name.replace(/\.ts$/, '.js');
}

/** The hash of a source, and when its compiled file was written. */
function stateOf(name) {
  const hash = createHash('sha256')
    .update(readFileSync(join(root, name)))
    .digest('base64');
  const output = statSync(join(outdir, outputOf(name)), { throwIfNoEntry: false });
  return `${hash} ${output?.mtimeMs}`;
}

/** The script of the API reference. Its package contains it as a string, in code that also requires packages for Node 22. */
function readReferenceScript() {
  const code = readFileSync(join(root, 'node_modules/@scalar/fastify-api-reference/dist/index.js'), 'utf8');
  const [literal] = code.match(/(?<=^var standalone_default = )".*"(?=;$)/m);
  return runInNewContext(literal).replace(/\n\/\/# sourceMappingURL=.*$/, '\n');
}

/** Lets modules find the files next to their source, although they are bundled. All bundles are in `dist/`. */
function keepPlaces({ onLoad }) {
  onLoad({ filter: /\.ts$/ }, ({ path }) => {
    if (path.includes('node_modules')) return;
    const place = relative(root, path).replace(/\.ts$/, '.js');
    const text = readFileSync(path, 'utf8').replaceAll('import.meta.url', `new URL('${place}', import.meta.url).href`);
    return { contents: text, loader: 'ts' };
  });
}

/**
 * The bundler gives a CommonJS module that is imported dynamically only a default export. In Node.js, it also has named ones, and libraries
 * use them.
 */
function keepNamedExports({ onResolve, onLoad, resolve }) {
  const namespace = 'commonjs';
  onResolve({ filter: /./ }, async ({ kind, path, resolveDir, pluginData }) => {
    if (kind !== 'dynamic-import' || pluginData === namespace) return;
    const found = await resolve(path, { kind, resolveDir, pluginData: namespace });
    const isModule =
      found.external || found.errors.length > 0 || !/\.c?js$/.test(found.path) || hasModuleSyntax(found.path);
    return isModule ? undefined : { path: found.path, namespace };
  });
  onLoad({ filter: /./, namespace }, ({ path }) => {
    const names = Object.keys(createRequire(path)(path)).filter((name) => name !== 'default');
    const file = JSON.stringify(path);
    return {
      contents: `const all = require(${file}); export default all; export const { ${names.join(', ')} } = all;`,
      resolveDir: dirname(path),
    };
  });
}

function hasModuleSyntax(path) {
  return /^(?:import|export)\b/m.test(readFileSync(path, 'utf8'));
}

/**
 * The bundler escapes non-ASCII characters, except in regular expressions. A single such character makes V8 store the whole text
 * of several megabytes with two bytes per character.
 */
function inAscii(text) {
  return text.replaceAll(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Leaves unchanged files alone. */
function writeIfChanged(path, contents) {
  if (!existsSync(path) || !readFileSync(path).equals(contents)) replaceFile(path, contents);
}

/** Replaces a file atomically: another service may be starting from this folder right now. */
function replaceFile(path, contents) {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, contents);
  renameSync(draft, path);
}

/** Writes a file and its compressed forms, so that the service never compresses it. */
function writeWithCompressed(path, contents) {
  writeIfChanged(path, contents);
  const { mtimeMs } = statSync(path);
  const isOutdated = (file) => !(statSync(file, { throwIfNoEntry: false })?.mtimeMs >= mtimeMs);
  // A higher quality would take ten times as long and save a tenth of the size.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length };
  if (isOutdated(`${path}.br`)) replaceFile(`${path}.br`, brotliCompressSync(contents, { params }));
  if (isOutdated(`${path}.gz`)) replaceFile(`${path}.gz`, gzipSync(contents, { level: 9 }));
}

/** Copies a file, or all files of a folder, to the same place under `dist/`. Deletes any other files in the copied folder. */
function copyIfChanged(path) {
  const source = join(root, path);
  if (!statSync(source).isDirectory()) return writeIfChanged(join(outdir, path), readFileSync(source));
  const entries = readdirSync(source);
  for (const entry of entries) copyIfChanged(join(path, entry));
  const target = join(outdir, path);
  for (const entry of readdirSync(target))
    if (!entries.includes(entry)) rmSync(join(target, entry), { recursive: true });
}

/** Deletes the output of sources and applications that no longer exist, so that no stale test runs and no stale file is served. */
function removeOrphans() {
  for (const application of readdirSync(join(outdir, 'pages')))
    if (!existsSync(join(root, 'pages', application))) rmSync(join(outdir, 'pages', application), { recursive: true });
  const made = browserFiles.flatMap(({ path }) => ['', '.br', '.gz'].map((ending) => relative(outdir, path) + ending));
  const kept = new Set(['server.js', ...modules.map(outputOf), ...made]);
  const bundles = new Set(serviceFiles.map(({ path }) => relative(outdir, path)));
  const dayAgo = Date.now() - 86_400_000;
  // A service that is running may still load the chunks of an earlier build.
  const isInUse = (file, source) =>
    source.startsWith('chunk-') && (bundles.size === 0 || bundles.has(source) || statSync(file).mtimeMs > dayAgo);
  for (const entry of readdirSync(outdir, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const source = relative(outdir, file).replace(/\.map$/, '');
    const isOutput = source.endsWith('.js') || /^pages\b.*\.(css|br|gz)$/.test(source);
    if (entry.isFile() && isOutput && !kept.has(source) && !isInUse(file, source)) rmSync(file);
  }
}
