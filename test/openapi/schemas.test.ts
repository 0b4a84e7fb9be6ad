// @suite embedded-only: hardly depends on the engine

import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { collections } from '../../db/query-language/collections.js';
import { formats } from '../../schemas/common.js';
import { operatorsOf } from '../../schemas/operators.js';
import { committedDocument, createDocumentCheck, requireDocumented } from '../helpers/openapi/document.js';

interface Schema {
  $ref?: string;
  type?: string;
  description?: string;
  enum?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  required?: string[];
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
  examples?: unknown[];
}

interface Operation {
  operationId: string;
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

const document = committedDocument();
const schemas = document.components.schemas as Record<string, Schema>;
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods) as Operation[]);
const named = (schema: Schema | undefined): string | undefined => schema?.$ref?.split('/').at(-1);
const resolve = (schema: Schema | undefined): Schema =>
  schema?.$ref === undefined ? (schema ?? {}) : (schemas[named(schema) ?? ''] ?? {});

/** The JSON bodies of requests and successful responses. */
const bodies = operations.flatMap(({ operationId, requestBody, responses }) => [
  ...Object.values(requestBody?.content ?? {}).map(({ schema }) => ({ what: `${operationId} request`, schema })),
  ...Object.entries(responses)
    .filter(([status]) => status < '300')
    .flatMap(([status, { content = {} }]) =>
      Object.entries(content)
        .filter(([mediaType]) => mediaType.endsWith('json'))
        .map(([, { schema }]) => ({ what: `${operationId} response ${status}`, schema })),
    ),
]);

const ajv = new Ajv2020({ strict: false, validateSchema: false });
for (const [name, validate] of Object.entries(formats)) ajv.addFormat(name, validate);
ajv.addFormat('date-time', true);
ajv.addSchema(document, 'document');

t.test('every body has its own named schema, and an example', async (t) => {
  t.ok(bodies.length > 70);
  for (const { what, schema } of bodies) {
    t.match(named(schema), /^[A-Z][A-Za-z]+$/, what);
    t.ok(resolve(schema).examples?.length, `${what}: an example of ${named(schema)}`);
  }
});

t.test('every example matches its schema', async (t) => {
  for (const [name, { examples = [] }] of Object.entries(schemas)) {
    const validate = ajv.compile({ $ref: `document#/components/schemas/${name}` });
    for (const example of examples) t.ok(validate(example), `${name} ${JSON.stringify(validate.errors)}`);
  }
});

t.test('a property that has alternatives is described beside them, where generators look', (t) => {
  let properties = 0;
  const visit = (schema: Schema, path: string) => {
    for (const [key, property] of Object.entries(schema.properties ?? {})) {
      if (property.description !== undefined) properties++;
      else
        t.notOk(
          property.anyOf?.some(({ description }) => description !== undefined),
          `${path}.${key}`,
        );
      visit(property, `${path}.${key}`);
    }
    for (const part of schema.anyOf ?? []) visit(part, path);
    if (schema.items) visit(schema.items, `${path}[]`);
  };
  for (const [name, schema] of Object.entries(schemas)) visit(schema, name);
  t.ok(properties > 600);
  t.end();
});

t.test('the tokens of each mode have a schema of their own, in which every key is required', (t) => {
  const modes = schemas.SessionTokens?.oneOf?.map(resolve) ?? [];
  t.strictSame(
    modes.map(({ properties = {} }) => Object.keys(properties)),
    [['expires', 'access_token', 'refresh_token'], ['expires', 'access_token'], ['expires']],
  );
  for (const { properties = {}, required, additionalProperties } of modes) {
    t.strictSame(required, Object.keys(properties));
    t.equal(additionalProperties, false);
  }
  t.end();
});

t.test('response schemas are closed: every object declares its properties, or is free-form data', async (t) => {
  const seen = new Set<string>();
  const visit = (schema: Schema, path: string) => {
    const name = named(schema);
    if (name !== undefined) {
      if (seen.has(name)) return;
      seen.add(name);
      return visit(resolve(schema), name);
    }
    if (schema.properties && Object.keys(schema.properties).length > 0)
      t.equal(schema.additionalProperties, false, path);
    for (const [key, part] of Object.entries(schema.properties ?? {})) visit(part, `${path}.${key}`);
    for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) visit(part, path);
    if (schema.items) visit(schema.items, `${path}[]`);
  };
  for (const { responses, operationId } of operations) {
    for (const { content = {} } of Object.values(responses)) {
      for (const { schema } of Object.values(content)) visit(schema, operationId);
    }
  }
  t.ok(seen.size > 50);
});

t.test('an operation that the document lacks is reported', async (t) => {
  const check = (id: string, method: string, url: string) => requireDocumented(new Map([[id, { method, url }]]));
  t.doesNotThrow(() => check('readUser', 'GET', '/users/:id'));
  for (const [id, method, url] of [
    ['readPerson', 'GET', '/users/:id'],
    ['readUser', 'SEARCH', '/users/:id'],
    ['readUser', 'GET', '/people/:id'],
  ] as const) {
    t.throws(
      () => check(id, method, url),
      { message: /^openapi\.yaml lacks .*\. Run npm run openapi$/ },
      `${id} ${method} ${url}`,
    );
  }
});

t.test('the document check rejects undocumented responses', async (t) => {
  const check = createDocumentCheck(document);
  const headers = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'x' };
  const answer = (body: object, more: object = {}) => ({
    method: 'GET',
    url: '/users/me?fields=id',
    status: 200,
    headers,
    body: JSON.stringify(body),
    ...more,
  });
  const id = '0c9d5d6e-3f0b-4d0c-9d53-6a4f1e0c8b21';
  t.strictSame(check(answer({ data: { id } })), { operation: 'readMe', codes: [undefined] });
  const error = (code: string, more: object = {}) => ({ errors: [{ message: 'No.', extensions: { code, ...more } }] });
  const faults: Record<string, Parameters<typeof check>[0]> = {
    'an extra field': answer({ data: { id, password: 'x' } }),
    'an extra field beside the data': answer({ data: { id }, debug: true }),
    'a value of the wrong type': answer({ data: { id: 1 } }),
    'a date in the wrong format': answer({ data: { last_access: '2026-01-31' } }),
    'no body': answer({}, { body: '' }),
    'an undeclared status': answer({ data: { id } }, { status: 201 }),
    'an undeclared media type': answer({ data: { id } }, { headers: { ...headers, 'content-type': 'text/html' } }),
    'no x-request-id': answer({ data: { id } }, { headers: { 'content-type': 'application/json' } }),
    'an undeclared header': answer({ data: { id } }, { headers: { ...headers, 'set-cookie': 'a=b' } }),
    'an undeclared code': answer(error('ROUTE_NOT_FOUND', { path: '/' }), { status: 403 }),
    'a code of another status': answer(error('INVALID_TOKEN'), { status: 401 }),
    'an extra key in an error': answer(error('INVALID_TOKEN', { stack: 'x' }), { status: 403 }),
    'no Retry-After': answer(error('SERVICE_UNAVAILABLE', { service: 'x', reason: 'x' }), { status: 503 }),
  };
  for (const [what, fault] of Object.entries(faults)) t.throws(() => check(fault), what);
});

t.test('a filter schema has the fields of its collection, each with the operators of its type', async (t) => {
  for (const [one, collection] of Object.entries({
    User: collections.users,
    Role: collections.roles,
    Policy: collections.policies,
    Permission: collections.permissions,
  })) {
    const { _and, _or, ...properties } = schemas[`${one}Filter`]?.properties ?? {};
    t.strictSame([named(_and?.items), named(_or?.items)], [`${one}Filter`, `${one}Filter`]);
    t.strictSame(Object.keys(properties), [...collection.fields.keys()], one);
    for (const [name, field] of collection.fields) {
      const [condition] = properties[name]?.anyOf ?? [properties[name] ?? {}];
      if (field.kind === 'list') t.match(named(properties[name]), /ListFilter$/, `${one}.${name}`);
      else {
        const whole = resolve(condition);
        const operators = resolve(whole.anyOf?.find((part) => part.$ref) ?? whole).properties ?? {};
        t.strictSame(
          Object.keys(operators),
          operatorsOf[field.type].map((operator) => `_${operator}`),
          `${one}.${name}`,
        );
        t.equal(properties[name]?.anyOf?.length, field.target === undefined ? undefined : 2, `${one}.${name}`);
      }
    }
  }
});

t.test('the filter schema accepts every form of filter, and rejects mistakes', async (t) => {
  const validate = ajv.compile({ $ref: 'document#/components/schemas/UserFilter' });
  for (const filter of [
    {},
    { email: 'ada@example.com' },
    { email: { _icontains: 'ada', _ends_with: '.com' }, title: null },
    { _or: [{ status: { _in: ['active', 'invited'] } }, { _and: [{ last_access: { _gte: '$NOW(-1 day)' } }] }] },
    { role: { name: { _eq: 'Editors' } } },
    { role: { _eq: '$CURRENT_ROLE' } },
    { policies: { _some: { name: { _contains: 'edit' } } } },
    { policies: { name: 'x' } },
    { tags: { _null: true } },
  ]) {
    t.ok(validate(filter), JSON.stringify([filter, validate.errors]));
  }
  for (const filter of [
    [],
    { mail: 'x' },
    { password: { _null: true } },
    { email: { _regex: 'x' } },
    { email: { _lt: 'x' } },
    { email: {} },
    { tags: { _eq: 'x' } },
    { last_access: { _between: ['2026-01-01'] } },
    { role: { _eq: 'x' } },
    { role: { title: 'x' } },
    { policies: { _some: { mail: 'x' } } },
    { _or: { status: 'active' } },
  ]) {
    t.notOk(validate(filter), JSON.stringify(filter));
  }
});

t.test('the schemas of field names and sort keys accept only valid values', async (t) => {
  const accepts = (name: string, value: string) => ajv.compile({ $ref: `document#/components/schemas/${name}` })(value);
  for (const name of ['id', '*', 'role', 'role.name', 'role.*', 'policies.permissions.action', '*.*']) {
    t.ok(accepts('UserField', name), name);
  }
  for (const name of ['password', '-id', 'email.x', 'role.', '']) t.notOk(accepts('UserField', name), name);
  for (const key of ['id', '-last_access', 'role.name', '-role.parent.name']) t.ok(accepts('UserSortKey', key), key);
  for (const key of ['*', 'policies', '+id', 'password']) t.notOk(accepts('UserSortKey', key), key);
});
