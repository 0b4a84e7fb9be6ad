// @suite embedded-only: reads the sources

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import t from 'tap';
import { modules } from '../../plugins/platform/plugin.js';

/**
 * The layers, and the layers that each may import from: `schemas ← db ← plugins ← services ← app ← server`, `services ← cli`,
 * `schemas ← routes ← app`. Pages run in the browser, and share nothing with the rest.
 */
const allowed: Record<string, string[]> = {
  schemas: ['schemas'],
  db: ['schemas', 'db'],
  plugins: ['schemas', 'db', 'plugins'],
  routes: ['schemas', 'routes'],
  pages: ['pages'],
  'services.ts': ['schemas', 'db', 'plugins'],
  cli: ['schemas', 'db', 'plugins', 'services.ts', 'cli'],
  'app.ts': ['schemas', 'db', 'plugins', 'routes', 'services.ts'],
  'server.ts': ['app.ts', 'plugins', 'schemas'],
};

interface Source {
  file: string;
  layer: string;
  text: string;
  imports: { target: string; isType: boolean }[];
}

const layerOf = (file: string) => file.split('/', 1)[0] ?? '';

/** The modules that a source file imports, re-exports, or loads dynamically. Type imports run no code. */
function importsOf(text: string): Source['imports'] {
  const clauses = text.matchAll(/\b(?:import|export)\s+(type\s+)?(?:[\w*{}\s,$]+?\s+from\s+)?['"]([^'"]+)['"]/g);
  const dynamic = text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g);
  return [
    ...[...clauses].map(([, type, target = '']) => ({ target, isType: type !== undefined })),
    ...[...dynamic].map(([, target = '']) => ({ target, isType: false })),
  ];
}

const files = [
  ...['schemas', 'db', 'plugins', 'routes', 'cli', 'pages'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  ),
  'services.ts',
  'app.ts',
  'server.ts',
].filter((file) => /\.tsx?$/.test(file));

const sources: Source[] = files.map((file) => {
  const text = readFileSync(file, 'utf8');
  return { file, layer: layerOf(file), text, imports: importsOf(text) };
});

t.test('importsOf() finds every form of import', async (t) => {
  const text = `import a from './a.js';
    import { b, type B } from './b.js';
    import type { C } from './c.js';
    import './d.js';
    export * from './e.js';
    export { f } from './f.js';
    import {
      g,
    } from './g.js';
    const h = await import('./h.js');
    import * as i from "./i.js";`;
  t.strictSame(
    importsOf(text)
      .map(({ target, isType }) => `${target}${isType ? ' type' : ''}`)
      .sort(),
    ['./a.js', './b.js', './c.js type', './d.js', './e.js', './f.js', './g.js', './h.js', './i.js'],
  );
  t.ok(sources.length > 50, 'there are source files to check');
});

t.test('a layer imports only from lower layers', async (t) => {
  for (const { file, layer, imports } of sources) {
    for (const { target } of imports.filter(({ target: name }) => name.startsWith('.'))) {
      const place = layerOf(normalize(join(dirname(file), target)).replace(/\.js$/, '.ts'));
      t.ok(allowed[layer]?.includes(place), `${file} imports ${target}`);
    }
  }
});

t.test('imports between the modules of plugins/, including type imports, go in one direction', async (t) => {
  const moduleOf = (file: string): number => (modules as readonly string[]).indexOf(file.split('/')[1] ?? '');
  for (const { file, layer, imports } of sources) {
    if (layer !== 'plugins') continue;
    const own = moduleOf(file);
    t.ok(own >= 0, `${file} is in one of the modules`);
    for (const { target } of imports.filter(({ target: name }) => name.startsWith('.'))) {
      const place = normalize(join(dirname(file), target));
      if (layerOf(place) !== 'plugins') continue;
      const other = moduleOf(place);
      t.ok(other >= 0 && other <= own, `${file} imports ${target}`);
    }
  }
});

t.test('plugins/README.md describes the modules in order', async (t) => {
  const [, table = ''] = readFileSync('plugins/README.md', 'utf8').split('| module | contents |');
  const described = table
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`([\w-]+)\/`/g)].map(([, name]) => name));
  t.strictSame(described, [...modules]);
});

t.test('plugins are defined with definePlugin(), which checks what they use', async (t) => {
  const others = ['plugins/http/protocol.ts', 'plugins/platform/plugin.ts', 'plugins/tokens/jwt.ts'];
  t.strictSame(
    sources.filter(({ imports }) => imports.some(({ target }) => target === 'fastify-plugin')).map(({ file }) => file),
    others,
  );
});

t.test('the kit of the pages uses only itself, and an application only itself and the kit', async (t) => {
  const check = (file: string, place: string) => {
    const [, own] = file.split('/');
    const [, other = ''] = place.split('/');
    t.ok(other === own || other === 'kit', `${file} uses ${place}`);
  };
  const texts = readdirSync('pages', { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(css|liquid)$/.test(file))
    .map((file) => ({ file: join('pages', file), text: readFileSync(join('pages', file), 'utf8') }));
  t.ok(texts.length > 40, 'there are templates and style sheets to check');
  for (const { file, text } of texts) {
    for (const [, target = ''] of text.matchAll(/@import "([^"]+)"/g))
      check(file, normalize(join(dirname(file), target)));
    for (const [, target = ''] of text.matchAll(/\{%-? (?:layout|include|render) '([^']+)'/g))
      check(file, `pages/${target}`);
  }
  for (const { file, imports } of sources.filter(({ layer }) => layer === 'pages')) {
    for (const { target } of imports.filter(({ target: name }) => name.startsWith('.')))
      check(file, normalize(join(dirname(file), target)));
  }
});

t.test('routes contain no try/catch', async (t) => {
  for (const { file, layer, text } of sources) if (layer === 'routes') t.notMatch(text, /\btry \{/, file);
});

t.test('the environment is read in one place', async (t) => {
  // The console shows developers code for their applications.
  for (const { file, text } of sources.filter(({ layer }) => layer !== 'pages')) {
    t.equal(
      /\bprocess\s*(\.|\?\.|\[\s*['"])\s*env\b|\benv\b[^;]*\bfrom\s+['"](node:)?process['"]/.test(text),
      file === 'plugins/platform/config.ts',
      file,
    );
  }
});

t.test(
  'only the pages, the mailbox, the metrics, the API reference, and OpenID Connect are not part of the API',
  async (t) => {
    t.strictSame(
      sources.filter(({ text }) => /\bisApi: false\b/.test(text)).map(({ file }) => file),
      [
        'plugins/http/protocol.ts',
        'plugins/openapi/reference.ts',
        'routes/applications/protocol.ts',
        'routes/mail/mailbox.ts',
        'routes/pages/index.ts',
        'routes/server/metrics.ts',
      ],
    );
  },
);

t.test('every page is in the table that the tests read', async (t) => {
  t.strictSame(
    sources.filter(({ text }) => /\.sendPage\(/.test(text)).map(({ file }) => file),
    [
      // These depend on the request of an application.
      'routes/applications/protocol.ts',
      'routes/mail/mailbox.ts',
      'routes/pages/authorize.ts',
      'routes/pages/console.ts',
      'routes/pages/error-page.ts',
      'routes/pages/index.ts',
    ],
    'Add the page to pagesByPath in routes/pages/pages.ts.',
  );
});

t.test('requests to other servers are sent by one HTTP client', async (t) => {
  for (const { file, text, imports } of sources.filter(({ layer }) => layer !== 'pages')) {
    t.notMatch(text, /(?<![.\w`])fetch\(/, file);
    const isClient = file === 'plugins/platform/http-client.ts';
    t.equal(
      imports.some(({ target }) => target === 'node:https' || target === 'undici'),
      isClient,
      file,
    );
  }
});

t.test('SQL is built only in db/', async (t) => {
  for (const { file, layer, imports } of sources) {
    if (layer === 'db') continue;
    for (const { target } of imports) {
      t.notMatch(target, /^(drizzle-orm|postgres|@electric-sql\/)/, `${file} imports ${target}`);
    }
  }
});

/** How a source file writes or runs an SQL statement. */
function statementsIn(text: string): string[] {
  const written =
    /[`'"]\s*(?:with \w+ as \(|(?:select|insert into|update|delete from|create|alter|drop|truncate|lock|set local|show|vacuum|analyze|explain)\s)[^`'"]*/g;
  const run =
    /(?<=\b(?:db|tx|executor|guard)\s*\.)(?:select|selectDistinct|insert|update|delete|execute|\$count)\(|\b(?:rows|fixedStatement)[<(]/g;
  return [...(text.match(written) ?? []), ...(text.match(run) ?? [])];
}

t.test('every SQL statement is in db/queries/, except those that manage connections', async (t) => {
  for (const statement of [
    'sql`select 1`',
    'sql`\n  with gone as (delete from users returning id) select 1`',
    "'vacuum users'",
    'client.exec(`create table t ()`)',
    'await rows<{ id: string }>(db, statement)',
    'executor.execute(statement)',
    'tx\n    .insert(users)',
    'db.$count(users)',
    'fixedStatement<Values, Row>((value) => statement)',
  ]) {
    t.equal(statementsIn(statement).length > 0, true, statement);
  }
  const managesConnections = /^db\/(?:postgres\/|embedded\/|statements\.ts$)/;
  // pg-boss writes its own statements. This file only passes them on.
  const passesOn = 'db/job-queue.ts';
  for (const { file, text, layer } of sources) {
    if (layer === 'pages' || file.startsWith('db/queries/') || managesConnections.test(file) || file === passesOn)
      continue;
    t.strictSame(statementsIn(text), [], file);
  }
});

t.test('outside db/, only plugins/platform/database.ts imports more than types from db/client.ts', async (t) => {
  for (const { file, layer, imports } of sources) {
    if (layer === 'db' || file === 'plugins/platform/database.ts') continue;
    for (const { isType } of imports.filter(({ target }) => target.endsWith('db/client.js'))) t.ok(isType, file);
  }
});

t.test('URLs are parsed with parseUrl(), because canParse() of Node 20 is wrong', async (t) => {
  for (const { file, text } of sources) {
    const isExplained = file === 'schemas/common.ts';
    if (!isExplained) t.notMatch(text, /\bcanParse\b/, file);
  }
});

t.test('there are no circular imports', async (t) => {
  const edges = new Map(
    sources.map(({ file, imports }) => [
      file,
      imports
        .filter(({ target, isType }) => target.startsWith('.') && !isType)
        .map(({ target }) => normalize(join(dirname(file), target)).replace(/\.js$/, '.ts')),
    ]),
  );
  const done = new Set<string>();
  const circleFrom = (file: string, way: readonly string[]): string[] | undefined => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const next of edges.get(file) ?? []) {
      const circle = circleFrom(next, [...way, file]);
      if (circle) return circle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of edges.keys()) t.equal(circleFrom(file, [])?.join(' → '), undefined, file);
});
