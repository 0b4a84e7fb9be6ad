// @suite not-everyday: tries hundreds of random queries

import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import qs from 'qs';
import t from 'tap';
import { createTestDatabase } from '../helpers/database/databases.js';
import {
  createOracle,
  type Name,
  type OracleAnswer,
  type OracleQuery,
  operators,
  Refusal,
  type Rule,
  shapes,
} from '../helpers/database/query-oracle.js';
import {
  awkward,
  callerId,
  callerNames,
  fillWorld,
  moments,
  readWorld,
  tokens,
  uuidOf,
} from '../helpers/database/query-world.js';
import { amountOf } from '../helpers/runner/long.js';
import { atEndOf } from '../helpers/runner/teardown.js';
import { bearer, startTestApp } from '../helpers/service/app.js';

/** The number of queries; `npm run test:queries` runs 10,000. */
const runs = amountOf('QUERY_RUNS', { short: 250, long: 10_000 });
/** The seed printed by a failed run, to repeat its queries. */
const seed = process.env.QUERY_SEED === undefined ? {} : { seed: Number(process.env.QUERY_SEED) };

t.setTimeout(3_600_000);
// This database orders texts as the evaluator does: by their bytes.
const database = await createTestDatabase({ collation: 'C' });
atEndOf(t, database.drop);
const now = new Date();
const { app } = await startTestApp(t, {}, { database: database.location, clock: () => now });
await fillWorld(app);

// The first request of a caller updates their last_access. Later ones do not, because the clock is stopped.
for (const name of callerNames) {
  const headers = bearer(tokens[name]);
  const noted = async () => (await readWorld(app)).users.find(({ id }) => id === callerId(name))?.last_access;
  await app.inject({ url: '/users/me', headers });
  for (let tries = 0; (await noted()) === null; tries++) {
    if (tries === 100) throw new Error('last_access was not written.');
    await setTimeout(20);
  }
}
const world = await readWorld(app);
const oracles = Object.fromEntries(callerNames.map((name) => [name, createOracle(world, callerId(name), now)]));
const oracleOf = (name: string) => oracles[name] as ReturnType<typeof createOracle>;

const text = fc.oneof(
  fc.constantFrom(...awkward),
  fc.constantFrom('active', 'default', 'git', 'Example', 'EXAMPLE.COM', '@', 'n', 'N', '**********', '*'),
  fc.string({ unit: fc.constantFrom('a', 'n', 'A', 'b', '%', '_', '\\', "'", '💥'), minLength: 1, maxLength: 3 }),
);
const key = fc.oneof(
  fc.constantFrom(...world.users, ...world.roles, ...world.roles, ...world.policies).map(({ id }) => String(id)),
  fc.constantFrom(uuidOf(4, 1), uuidOf(4, 2), uuidOf(9, 9)),
  fc.constantFrom(uuidOf(1, 1).toUpperCase()),
);
const moment = fc.oneof(
  fc.constantFrom(...moments),
  fc.constantFrom(
    '2024-03-01',
    '2024-12-31T23:59',
    '2025-01-01T01:00:00+01:00',
    '2024-02-29T23:59:59.999',
    '2000-02-29T12:00:00.0001Z',
    '0001-01-01',
    '9999-12-31T23:59:59.999Z',
  ),
  fc.constantFrom('$NOW', '$NOW(-1 day)', '$NOW(-400 days)', '$NOW(3000 days)'),
);

function operand(type: keyof typeof operators, operator: string, target: Name | undefined): fc.Arbitrary<unknown> {
  if (['null', 'nnull', 'empty', 'nempty'].includes(operator)) return fc.constantFrom(true, false, 'true', 'false', '');
  const one: fc.Arbitrary<unknown> = {
    text,
    secret: fc.constantFrom('**********', '*', 'sealed', 'hash 7'),
    uuid: key,
    timestamp: moment,
    integer: fc.oneof(fc.integer({ min: -1, max: 20 }), fc.constantFrom(2_147_483_647, '3')),
    boolean: fc.constantFrom(true, false, 'true', 'false'),
    json: fc.constant(true),
  }[type];
  if (operator === 'in' || operator === 'nin') {
    const variable = fc.constantFrom('$CURRENT_ROLES', '$CURRENT_POLICIES', '$CURRENT_USER');
    const list = fc.array(one, { minLength: 1, maxLength: 4 });
    return type === 'uuid' ? fc.oneof({ weight: 3, arbitrary: list }, { weight: 1, arbitrary: variable }) : list;
  }
  if (operator === 'between' || operator === 'nbetween') return fc.tuple(one, one);
  if (operator === 'eq' || operator === 'neq') {
    const filled = one.filter((value) => value !== '');
    const more: unknown[] = [null, 'null'];
    if (type === 'uuid') more.push('$CURRENT_USER', '$CURRENT_ROLE');
    if (target === 'roles') more.push('$CURRENT_ROLE');
    return fc.oneof({ weight: 5, arbitrary: filled }, { weight: 1, arbitrary: fc.constantFrom(...more) });
  }
  return one;
}

/** Usually a field that the caller can read, and occasionally any field. */
function fieldOf(caller: string, collection: Name, wanted: (name: string) => boolean): fc.Arbitrary<string> {
  const names = Object.keys(shapes[collection]).filter(wanted);
  const readable = names.filter((name) => oracleOf(caller).mayName(collection, name));
  if (readable.length === 0) return fc.constantFrom(...names);
  return fc.oneof(
    { weight: 60, arbitrary: fc.constantFrom(...readable) },
    { weight: 1, arbitrary: fc.constantFrom(...names) },
  );
}

const targetOf = (collection: Name, field: string): Name | undefined => {
  const shape = shapes[collection][field];
  return shape && ('list' in shape ? shape.list : shape.to);
};
const isList = (collection: Name, field: string) => 'list' in (shapes[collection][field] ?? {});

/** Whether to follow relations to a collection. Relations that the caller cannot follow are rejected immediately. */
const isOpen = (caller: string, to: Name | undefined) => to !== undefined && oracleOf(caller).view(to).length > 0;

function condition(caller: string, collection: Name, depth: number): fc.Arbitrary<Rule> {
  const usable = (name: string) =>
    !isList(collection, name) || (depth > 0 && isOpen(caller, targetOf(collection, name)));
  return fieldOf(caller, collection, usable).chain((field) => {
    const shape = shapes[collection][field];
    const to = targetOf(collection, field);
    const nested: fc.Arbitrary<unknown>[] = [];
    if (to && depth > 0 && isOpen(caller, to)) {
      nested.push(filterOf(caller, to, depth - 1).filter((filter) => Object.keys(filter).length > 0));
    }
    if (shape && 'list' in shape) {
      const inside = nested[0] ?? fc.constant({ id: { _null: true } });
      return fc
        .oneof(
          inside,
          inside.map((filter) => ({ _some: filter })),
          inside.map((filter) => ({ _none: filter })),
        )
        .map((value) => ({ [field]: value }));
    }
    const type = shape?.type ?? 'text';
    const compared = fc
      .constantFrom(...operators[type])
      .chain((operator) => operand(type, operator, to).map((value) => ({ [`_${operator}`]: value })));
    const both = fc.tuple(compared, compared).map(([one, two]) => ({ ...one, ...two }));
    const short = ['text', 'uuid', 'boolean'].includes(type) ? [operand(type, 'eq', to)] : [];
    const arbitraries: fc.Arbitrary<unknown>[] = [compared, compared, compared, both, ...short, ...nested, ...nested];
    return fc.oneof(...arbitraries).map((value) => ({ [field]: value }));
  });
}

function filterOf(caller: string, collection: Name, depth: number): fc.Arbitrary<Rule> {
  const one = condition(caller, collection, depth);
  const merged = fc.array(one, { minLength: 1, maxLength: 3 }).map((parts) => Object.assign({}, ...parts) as Rule);
  if (depth <= 0) return merged;
  const deeper = filterOf(caller, collection, depth - 1);
  const list = fc.array(deeper, { minLength: 1, maxLength: 3 });
  return fc.oneof(
    { weight: 4, arbitrary: merged },
    { weight: 1, arbitrary: list.map((parts) => ({ _and: parts })) },
    { weight: 2, arbitrary: list.map((parts) => ({ _or: parts })) },
    { weight: 1, arbitrary: fc.tuple(one, list).map(([first, parts]) => ({ ...first, _or: parts })) },
  );
}

function pathOf(
  caller: string,
  collection: Name,
  depth: number,
  last: (place: Name, name: string) => boolean,
): fc.Arbitrary<string> {
  const leaf = fieldOf(caller, collection, (name) => last(collection, name));
  const links = Object.keys(shapes[collection]).filter((name) => {
    const to = targetOf(collection, name);
    const isEnd = isList(collection, name) && !last(collection, name);
    return !isEnd && isOpen(caller, to) && oracleOf(caller).mayName(collection, name);
  });
  if (depth === 0 || links.length === 0) return leaf;
  const linked = fc.constantFrom(...links).chain((name) => {
    const to = targetOf(collection, name) as Name;
    return pathOf(caller, to, depth - 1, last).map((rest) => `${name}.${rest}`);
  });
  return fc.oneof({ weight: 3, arbitrary: leaf }, { weight: 1, arbitrary: linked });
}

const sortable = (collection: Name, name: string) => {
  const shape = shapes[collection][name];
  return shape !== undefined && 'type' in shape && shape.type !== 'json';
};
const wildcards = ['*', '*.*', 'role.*', 'policies.*', 'policies.permissions.*', 'users.*', 'parent.*', 'policy.*'];

function queryOf(caller: string, collection: Name): fc.Arbitrary<OracleQuery> {
  const path = pathOf(caller, collection, 2, () => true);
  const wild = wildcards.filter((name) => {
    const [head = ''] = name.split('.');
    return head === '*' || isOpen(caller, targetOf(collection, head));
  });
  const fields = fc.array(
    fc.oneof({ weight: 4, arbitrary: path }, { weight: 1, arbitrary: fc.constantFrom(...wild) }),
    { maxLength: 5 },
  );
  const sort = fc.array(
    fc.tuple(fc.boolean(), pathOf(caller, collection, 2, sortable)).map(([down, name]) => `${down ? '-' : ''}${name}`),
    { minLength: 1, maxLength: 3 },
  );
  const list = fc.record(
    {
      fields,
      filter: filterOf(caller, collection, 3),
      sort,
      search: fc.oneof(
        text.filter((term) => !term.includes('\n')),
        key,
      ),
      limit: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constantFrom(-1, 100)),
      offset: fc.integer({ min: 0, max: 20 }),
      page: fc.integer({ min: 0, max: 5 }),
      meta: fc.constantFrom(['*'], ['total_count'], ['filter_count'], ['total_count', 'filter_count']),
    },
    { requiredKeys: [] },
  );
  const grouped = fieldOf(caller, collection, (name) => sortable(collection, name));
  const counted = fc.array(fc.oneof(grouped), { minLength: 1, maxLength: 2 });
  const ordered = (name: string) => {
    const shape = shapes[collection][name];
    return shape !== undefined && 'type' in shape && ['text', 'timestamp', 'integer'].includes(shape.type);
  };
  const aggregate = fc
    .record(
      {
        count: fc.oneof(fc.constant(['*']), counted),
        countDistinct: counted,
        min: fc.array(fieldOf(caller, collection, ordered), { minLength: 1, maxLength: 2 }),
        max: fc.array(fieldOf(caller, collection, ordered), { minLength: 1, maxLength: 2 }),
      },
      { requiredKeys: [] },
    )
    .filter((functions) => Object.keys(functions).length > 0);
  const aggregated = fc.record(
    {
      aggregate,
      groupBy: fc.array(grouped, { maxLength: 2 }),
      filter: filterOf(caller, collection, 2),
      search: text,
      meta: fc.constant(['*']),
    },
    { requiredKeys: ['aggregate'] },
  );
  const either: fc.Arbitrary<OracleQuery> = fc.oneof(
    { weight: 6, arbitrary: list },
    { weight: 1, arbitrary: aggregated },
  );
  return either.map((query) => {
    // The contract does not define pages without a limit.
    if (query.limit !== -1) return query;
    const { page: _, ...rest } = query;
    return rest;
  });
}

const forms = ['brackets', 'json', 'search'] as const;
const asked = fc
  .tuple(
    fc.constantFrom(...callerNames),
    fc.constantFrom<Name>('users', 'users', 'users', 'roles', 'policies', 'permissions'),
    fc.constantFrom(...forms),
  )
  .chain(([caller, collection, form]) =>
    queryOf(caller, collection).map((query) => ({ caller, collection, form, query })),
  );

/** Encodes a query in one of the three forms, as a client would. */
function encode(
  collection: Name,
  form: (typeof forms)[number],
  { fields, sort, meta, groupBy, ...query }: OracleQuery,
) {
  const lists = Object.fromEntries(
    Object.entries({ fields, sort, meta, groupBy })
      .filter(([, list]) => list !== undefined && list.length > 0)
      .map(([name, list]) => [name, form === 'json' ? list : list?.join(',')]),
  );
  if (form === 'search') {
    return { method: 'SEARCH' as const, url: `/${collection}`, payload: { query: { ...query, ...lists } } };
  }
  const filter = form === 'json' && query.filter ? JSON.stringify(query.filter) : texts(query.filter);
  const parameters = { ...query, ...lists, ...(filter === undefined ? {} : { filter }) };
  return { method: 'GET' as const, url: `/${collection}?${qs.stringify(parameters, { arrayFormat: 'indices' })}` };
}

/** A query string contains only texts. */
function texts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(texts);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, texts(part)]));
  }
  return value === undefined ? undefined : String(value);
}

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

t.test(`${runs} random queries return what the evaluator returns`, { timeout: 3_600_000 }, async (t) => {
  const statistics = { answered: 0, rows: 0, refused: 0 };
  const holds = fc.asyncProperty(asked, async ({ caller, collection, form, query }) => {
    let expected: OracleAnswer | undefined;
    let code: string | undefined;
    try {
      expected = oracleOf(caller).answer(collection, query);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      code = error.code;
    }
    const response = await app.inject({ ...encode(collection, form, query), headers: bearer(tokens[caller]) });
    const body = response.json();
    if (!expected) {
      statistics.refused++;
      // If there are two errors, either may be reported.
      const isLong = query.fields?.some((path) => path.split('.').length > 2);
      const allowed = isLong
        ? ['403 FORBIDDEN', '400 INVALID_QUERY']
        : [code === 'FORBIDDEN' ? '403 FORBIDDEN' : `400 ${code}`];
      if (!allowed.includes(`${response.statusCode} ${body.errors?.[0].extensions.code}`)) {
        throw new Error(`${response.statusCode} instead of ${code}: ${response.body}`);
      }
      return;
    }
    statistics.answered++;
    statistics.rows += expected.data.length;
    if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${response.body}`);
    const ordered = (rows: Record<string, unknown>[]) => {
      const lines = rows.map(canonical);
      return query.aggregate ? lines.sort() : lines;
    };
    const [got, wanted] = [ordered(body.data), ordered(expected.data)];
    const place = wanted.findIndex((line, index) => line !== got[index]);
    if (got.length !== wanted.length || place >= 0) {
      throw new Error(
        `${got.length} of ${wanted.length} rows; row ${place}: ${got[place]}\ninstead of ${wanted[place]}`,
      );
    }
    if (canonical(body.meta ?? null) !== canonical(expected.meta ?? null)) {
      throw new Error(`${canonical(body.meta)}\ninstead of ${canonical(expected.meta)}`);
    }
  });
  const result = await fc.check(holds, { numRuns: runs, ...seed });
  const difference = result.errorInstance instanceof Error ? result.errorInstance.message : '';
  t.notOk(result.failed, `${fc.defaultReportMessage(result) ?? ''}\n${difference}`);
  t.comment(`seed ${result.seed}: ${JSON.stringify(statistics)}`);
  t.ok(statistics.rows > runs / 4, 'many queries return rows');
  t.ok(statistics.refused < runs / 3, 'few queries are rejected');
});
