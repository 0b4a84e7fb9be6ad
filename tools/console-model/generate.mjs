// Generates what the console knows about the API from `openapi.yaml`: the types of its requests and responses
// (`pages/console/model/api.ts`), the collections with their fields (`pages/console/model/collections.ts`), and the operators of filters
// (`pages/console/model/operators.ts`), from which the console builds its filters, columns, and forms. `npm run openapi` runs it.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import { parse } from 'yaml';

const root = new URL('../../', import.meta.url);
const document = parse(readFileSync(new URL('openapi.yaml', root), 'utf8'));
const model = (name) => new URL(`pages/console/model/${name}`, root);
const header = '// Generated from openapi.yaml by `npm run openapi`. Do not edit.\n';

/** The collections, with the schema of an item, and those of the bodies that create and update one. */
const collections = {
  users: ['User', 'NewUser', 'UserChanges'],
  roles: ['Role', 'NewRole', 'RoleChanges'],
  policies: ['Policy', 'NewPolicy', 'PolicyChanges'],
  permissions: ['Permission', 'NewPermission', 'PermissionChanges'],
  clients: ['Client', 'NewClient', 'ClientChanges'],
  resources: ['Resource', 'NewResource', 'ResourceChanges'],
  activity: ['Activity'],
  mails: ['Mail'],
  settings: ['Settings', undefined, 'SettingsInput'],
};
const collectionOf = Object.fromEntries(Object.entries(collections).map(([name, [schema]]) => [schema, name]));

writeFileSync(model('api.ts'), header + astToString(await openapiTS(withoutTexts(document))));
const fields = Object.fromEntries(Object.entries(collections).map(([name, names]) => [name, fieldsOf(...names)]));
writeFileSync(
  model('collections.ts'),
  `${header}import type { Field } from './fields.js';

export const collections = ${JSON.stringify(fields, null, 2)} as const satisfies Record<string, readonly Field[]>;
`,
);

writeFileSync(
  model('operators.ts'),
  `${header}
/** The operators of filters, without the \`_\` in front, for each type of value. */
export const operators = ${JSON.stringify(operatorsByType(), null, 2)} as const;
`,
);

/** The console needs neither the texts nor the errors of the document, nor the types of filters, which it checks in its own way. */
function withoutTexts({ openapi, info, paths, components }) {
  const isLeftOut = (name) =>
    /(?:Filter|Aggregate|Aggregation|Query|Condition|Operators|Errors?|Field|SortKey)$/.test(name);
  const strip = (value) => {
    if (Array.isArray(value)) return value.map(strip);
    if (typeof value !== 'object' || value === null) return value;
    const name = /^#\/components\/schemas\/(.*)$/.exec(value.$ref ?? '')?.[1];
    if (name !== undefined && isLeftOut(name)) return {};
    const entries = Object.entries(value)
      .filter(([key, part]) => !(typeof part === 'string' && ['description', 'summary'].includes(key)))
      .filter(([key]) => !['examples', 'example', 'headers', 'contentSchema', 'security', 'tags'].includes(key));
    return Object.fromEntries(entries.map(([key, part]) => [key, key === 'enum' ? part : strip(part)]));
  };
  const operation = (one) => ({
    ...strip(one),
    responses: strip(Object.fromEntries(Object.entries(one.responses).filter(([status]) => status.startsWith('2')))),
  });
  const methods = ['get', 'post', 'patch', 'delete'];
  const path = (item) =>
    Object.fromEntries(methods.filter((method) => item[method]).map((method) => [method, operation(item[method])]));
  const schemas = Object.entries(components.schemas).filter(
    ([name]) => !isLeftOut(name) && !/^(?!ProviderCallback).*Form$/.test(name),
  );
  return {
    openapi,
    info: { title: info.title, version: info.version },
    paths: Object.fromEntries(
      Object.entries(paths)
        .filter(([name]) => !/^\/(?:oauth|auth\/oauth|auth\/login\/|\.well-known)\//.test(name))
        .map(([name, item]) => [name, path(item)]),
    ),
    components: {
      parameters: strip(components.parameters ?? {}),
      schemas: Object.fromEntries(schemas.map(([name, schema]) => [name, strip(schema)])),
    },
  };
}

/** The fields of a collection, in the order of the document. Required properties do not depend on permissions, so they are no fields. */
function fieldsOf(item, created, changed) {
  const schemaOf = (name) => (name === undefined ? undefined : document.components.schemas[name]);
  const properties = (name) => schemaOf(name)?.properties ?? {};
  const [onCreate, onUpdate] = [properties(created), properties(changed)];
  const fields = Object.entries(properties(item)).filter(([name]) => !schemaOf(item).required?.includes(name));
  return fields.map(([name, schema]) => ({
    name,
    ...typeOf(schema),
    ...filterOf(properties(`${item}Filter`)[name]),
    creatable: name in onCreate,
    updatable: name in onUpdate,
    ...lengthOf(onCreate[name] ?? onUpdate[name]),
  }));
}

/** How a filter can use a field: the type of its operators, or `items` for a list of related items. */
function filterOf(schema) {
  const names = [schema, ...(schema?.anyOf ?? [])].flatMap((part) => part?.$ref?.split('/').at(-1) ?? []);
  if (names.some((name) => name.endsWith('ListFilter'))) return { filter: 'items' };
  const [, type] = names.map((name) => /^(\w+)(?:Condition|Operators)$/.exec(name)).find((match) => match) ?? [];
  return type === undefined ? {} : { filter: type.toLowerCase() };
}

/** The maximum length of a text that can be written. */
function lengthOf(schema) {
  const lengths = [schema, ...(schema?.anyOf ?? [])].flatMap(
    (part) => (part?.type === 'string' && part.maxLength) || [],
  );
  return lengths.length > 0 ? { maxLength: lengths[0] } : {};
}

function operatorsByType() {
  const schemas = Object.entries(document.components.schemas).filter(([name]) => name.endsWith('Operators'));
  return Object.fromEntries(
    schemas.map(([name, { properties }]) => [
      name.replace(/Operators$/, '').toLowerCase(),
      Object.keys(properties).map((operator) => operator.slice(1)),
    ]),
  );
}

function typeOf(schema) {
  const parts = schema.anyOf ?? [schema];
  const named = parts.map(({ $ref }) => collectionOf[$ref?.split('/').at(-1)]).find((name) => name !== undefined);
  if (named !== undefined) return { type: 'relation', collection: named };
  const [part = {}] = parts.filter(({ type }) => type !== 'null');
  const [type] = [part.type].flat().filter((name) => name !== 'null');
  if (part.enum) return { type: 'choice', choices: part.enum.filter((value) => value !== null) };
  if (parts.every(({ const: value, type: kind }) => value !== undefined || kind === 'null'))
    return { type: 'choice', choices: parts.map(({ const: value }) => value).filter((value) => value !== undefined) };
  if (type === 'array') {
    const items = [part.items?.anyOf ?? part.items].flat();
    const list = items.map(({ $ref } = {}) => collectionOf[$ref?.split('/').at(-1)]).find((name) => name !== undefined);
    return list === undefined ? { type: 'list' } : { type: 'relations', collection: list };
  }
  if (part.format === 'date-time') return { type: 'time' };
  if (part.format === 'uuid') return { type: 'id' };
  if (type === 'boolean') return { type: 'boolean' };
  if (type === 'integer' || type === 'number') return { type: 'number' };
  return { type: type === 'string' ? 'text' : 'json' };
}
