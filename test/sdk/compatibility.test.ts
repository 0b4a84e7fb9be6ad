// @suite embedded-only: hardly depends on the engine

import { readdirSync, readFileSync } from 'node:fs';
import * as sdk from '@directus/sdk';
import t from 'tap';
import { adminToken, startWithAdmin } from '../helpers/http/writing.js';

const document = 'docs/directus-compatibility.md';
const verdicts = ['same', 'differs', 'not available', 'client-side helper'] as const;

interface Row {
  names: string[];
  verdict: (typeof verdicts)[number];
}

/** The rows of all tables: the names of functions, and their verdict. */
const rows = readFileSync(document, 'utf8')
  .split('\n')
  .flatMap((line): Row[] => {
    const [, cell = '', verdict] =
      /^\| (`\w+`(?:, `\w+`)*) \| (same|differs|not available|client-side helper) \|/.exec(line) ?? [];
    const known = verdicts.find((one) => one === verdict);
    return known ? [{ names: [...cell.matchAll(/\w+/g)].map(([name]) => name), verdict: known }] : [];
  });
const namesOf = (...wanted: Row['verdict'][]) =>
  rows.filter(({ verdict }) => wanted.includes(verdict)).flatMap(({ names }) => names);

t.test('the document lists every function of the SDK exactly once', async (t) => {
  const functions = Object.entries(sdk)
    .filter(([, value]) => typeof value === 'function')
    .map(([name]) => name);
  t.strictSame(namesOf(...verdicts).sort(), functions.sort());
});

t.test('a test calls every function that is the same or differs', async (t) => {
  const folder = 'test/sdk';
  const tests = readdirSync(folder)
    .map((name) => readFileSync(`${folder}/${name}`, 'utf8'))
    .join('\n');
  for (const name of namesOf('same', 'differs')) t.match(tests, new RegExp(`\\b${name}\\(`), name);
});

t.test('a function that is not available returns ROUTE_NOT_FOUND', async (t) => {
  const { app } = await startWithAdmin(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const client = sdk.createDirectus(url).with(sdk.staticToken(adminToken)).with(sdk.rest());
  const id = '0c9d5d6e-3f0b-4d0c-9d53-6a4f1e0c8b21';
  const commands: Record<string, unknown> = {
    readItemPermissions: sdk.readItemPermissions('directus_users', id),
    readOpenApiSpec: sdk.readOpenApiSpec(),
    readGraphqlSdl: sdk.readGraphqlSdl(),
    generateHash: sdk.generateHash('text'),
    verifyHash: sdk.verifyHash('text', 'hash'),
    randomString: sdk.randomString(),
    clearCache: sdk.clearCache(),
    authenticateShare: sdk.authenticateShare(id),
    readShares: sdk.readShares(),
    readFiles: sdk.readFiles(),
    readFolders: sdk.readFolders(),
    readFlows: sdk.readFlows(),
    readCollections: sdk.readCollections(),
    readFields: sdk.readFields(),
    readRelations: sdk.readRelations(),
    readPresets: sdk.readPresets(),
    readRevisions: sdk.readRevisions(),
    readNotifications: sdk.readNotifications(),
    readTranslations: sdk.readTranslations(),
    readExtensions: sdk.readExtensions(),
    schemaSnapshot: sdk.schemaSnapshot(),
    readItems: sdk.readItems('articles' as never),
  };
  const absent = new Set(namesOf('not available'));
  for (const [name, command] of Object.entries(commands)) {
    t.ok(absent.has(name), `${name} is documented as not available`);
    const failure = await client.request(command as never).catch((error: unknown) => error);
    t.match(failure, { errors: [{ extensions: { code: 'ROUTE_NOT_FOUND' } }] }, name);
  }
});
