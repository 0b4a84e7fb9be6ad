import { isDeepStrictEqual } from 'node:util';
import type { Executor } from '../../db/client.js';
import {
  type ClientCombination,
  currentSecretHash,
  insertClientSecrets,
  replaceClientSecret,
} from '../../db/queries/applications/clients.js';
import {
  lockDeclared,
  readDeclared,
  releaseDeclared,
  type StoredItem,
} from '../../db/queries/applications/declared.js';
import {
  type Columns,
  deleteRecords,
  insertRecords,
  rowsWithValues,
  updateRecords,
} from '../../db/queries/items/writes.js';
import { collections } from '../../db/query-language/collections.js';
import { transact } from '../../db/statements.js';
import { isUriRule, uriRules } from '../../schemas/client-uris.js';
import { isObject } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import type { ActivityEvent } from '../activity/service.js';
import { readPayload } from '../items/payload.js';
import { ConfigError } from '../platform/config.js';
import type { Services } from '../platform/plugin.js';
import { hashToken } from '../tokens/refresh-tokens.js';
import { formerSecretLifetime } from './secrets.js';
import {
  clientDefaults,
  clientFields,
  combinationFault,
  requiredOfClient,
  requiredOfResource,
  resourceDefaults,
  resourceFields,
} from './write-rules.js';

/** A client or a resource that the configuration declares. */
interface DeclaredItem {
  id: string;
  /** Where it is, for messages. */
  place: string;
  /** The values of all columns that can be written. A field that is not declared has its default. */
  columns: Columns;
  /** The fields that are declared. */
  fields: readonly string[];
  /** SHA-256 of the declared secret, in hex. */
  secretHash?: string;
}

/** The clients and resources that the configuration declares. */
export interface Declaration {
  clients: readonly DeclaredItem[];
  resources: readonly DeclaredItem[];
}

type Name = keyof Declaration;

const rules = {
  clients: { special: clientFields, defaults: clientDefaults, required: requiredOfClient },
  resources: { special: resourceFields, defaults: resourceDefaults, required: requiredOfResource },
};

/** Long enough that a plain hash cannot be reversed, and without characters that forms and headers would have to encode. */
const secretPattern = /^[\w.~-]{32,255}$/;

/**
 * Reads CLIENTS. The rules are those of the API, except that IDs are required, and that clients can list only resources that are declared,
 * too: otherwise, a change through the API could prevent the next start.
 * @throws {ConfigError} with all faults
 */
export function readDeclaration(declared: Record<string, unknown>): Declaration {
  const faults: string[] = [];
  for (const key of Object.keys(declared))
    if (key !== 'clients' && key !== 'resources') faults.push(`it can contain clients and resources, but not ${key}`);
  const resources = readList('resources', declared.resources, faults);
  const clients = readList('clients', declared.clients, faults);
  requireDistinct(resources, ({ columns }) => columns.identifier, 'identifier', faults);
  // Also those of resources with faults, which are reported once.
  const identifiers = new Set(
    [declared.resources].flat().map((resource) => (isObject(resource) ? resource.identifier : undefined)),
  );
  for (const { place, columns } of clients) {
    for (const identifier of columns.resources as string[])
      if (!identifiers.has(identifier))
        faults.push(`${place}: resources can contain only resources that are declared, too, got ${quote(identifier)}`);
  }
  if (faults.length > 0) throw configError(faults);
  return { clients, resources };
}

const configError = (faults: readonly string[]) => new ConfigError(faults.map((fault) => `CLIENTS: ${fault}`));
const quote = (value: unknown) => JSON.stringify(value);

function readList(name: Name, list: unknown, faults: string[]): DeclaredItem[] {
  if (list === undefined) return [];
  if (!Array.isArray(list)) {
    faults.push(`${name} must be a list`);
    return [];
  }
  const items = list.flatMap((item: unknown, index) => readItem(name, item, `${name}[${index}]`, faults) ?? []);
  requireDistinct(items, ({ id }) => id, 'id', faults);
  return items;
}

/** @returns undefined if it has faults */
function readItem(name: Name, item: unknown, position: string, faults: string[]): DeclaredItem | undefined {
  if (!isObject(item)) {
    faults.push(`${position} must be an object`);
    return undefined;
  }
  const place = typeof item.name === 'string' ? `${position} (${item.name})` : position;
  const { secret, ...withoutSecret } = item;
  const values = name === 'clients' ? withoutSecret : item;
  const found: string[] = [];
  const columns: Columns = {};
  for (const [field, value] of Object.entries(values)) {
    try {
      Object.assign(columns, readPayload(collections[name], { [field]: value }, rules[name].special).columns);
    } catch (error) {
      found.push(explain(error));
    }
  }
  for (const field of ['id', ...rules[name].required]) if (!(field in values)) found.push(`${field} is required`);
  if (name === 'clients' && secret !== undefined) {
    if (typeof secret !== 'string' || !secretPattern.test(secret))
      found.push('secret must have 32 to 255 characters: letters, digits, and -, ., _, or ~');
    if (columns.type === 'public') found.push('secret is only for confidential clients');
  }
  const complete: Columns = { ...emptyColumns(name), ...rules[name].defaults, ...columns };
  if (found.length === 0 && name === 'clients') {
    const fault = combinationFault(complete as unknown as ClientCombination);
    if (fault) found.push(`${fault.field} ${fault.reason}`);
  }
  faults.push(...found.map((fault) => `${place}: ${fault}`));
  if (found.length > 0) return undefined;
  const { id, ...others } = complete;
  return {
    id: String(id),
    place,
    columns: others,
    fields: Object.keys(values),
    ...(typeof secret === 'string' ? { secretHash: hashToken(secret) } : {}),
  };
}

/** All columns that can be written. */
const emptyColumns = (name: Name): Columns =>
  Object.fromEntries(
    [...collections[name].fields.values()].flatMap((field) =>
      field.kind === 'value' && !field.readOnly ? [[field.column, null]] : [],
    ),
  );

function requireDistinct(
  items: readonly DeclaredItem[],
  read: (item: DeclaredItem) => unknown,
  field: string,
  faults: string[],
): void {
  const places = new Map<unknown, string>();
  for (const item of items) {
    const first = places.get(read(item));
    if (first !== undefined) faults.push(`${item.place}: ${field} is also that of ${first}`);
    places.set(read(item), item.place);
  }
}

/** What is wrong with a field. */
function explain(error: unknown): string {
  if (!(error instanceof ApiError)) throw error;
  const { reason, field, type, valid, invalid } = error.extensions as Record<string, unknown>;
  if (error.code === 'INVALID_PAYLOAD') return String(reason);
  if (error.code === 'NOT_NULL_VIOLATION') return `${field} must not be null`;
  if (error.code !== 'FAILED_VALIDATION') return `${field} is too long`;
  return `${field} ${explainRule(String(type), valid as string[])}${invalid === undefined ? '' : `, got ${quote(invalid)}`}`;
}

function explainRule(type: string, valid: readonly string[]): string {
  if (isUriRule(type)) return uriRules[type];
  if (type === 'in') return `accepts only ${valid.join(', ')}`;
  if (type === 'duration') return `must be a duration from ${valid.join(' to ')}, such as 15m`;
  if (type === 'reserved_scope') return 'must not contain scopes of OpenID Connect or of the service itself';
  return 'must consist of scopes, which are printable ASCII without spaces, quotes, and backslashes';
}

/**
 * Creates, updates, and deletes clients and resources, so that they are as declared. Any number of instances can do this at the same time.
 * An item that was created through the API becomes a declared one if its ID is declared. Only items that were declared before are deleted.
 * @param declaration undefined: CLIENTS is not set, so all items can be changed through the API from now on
 * @throws {ConfigError} if the declaration contradicts what is stored
 */
export async function applyDeclaration(services: Services, declaration: Declaration | undefined): Promise<void> {
  const { maintenanceDb, activity, log } = services;
  if (!declaration) return releaseDeclared(maintenanceDb);
  const events = await transact(maintenanceDb, async (tx) => {
    await lockDeclared(tx);
    const done = [
      ...(await applyItems(tx, 'resources', declaration.resources)),
      ...(await applyItems(tx, 'clients', declaration.clients)),
      ...(await applySecrets(tx, declaration.clients, services.clock())),
    ];
    await activity.record(tx, null, done);
    return done;
  });
  for (const { action, collection, item } of events)
    log.info({ action, collection, item }, 'a client or resource was changed to match CLIENTS');
}

async function applyItems(tx: Executor, name: Name, items: readonly DeclaredItem[]): Promise<ActivityEvent[]> {
  const collection = collections[name];
  const ids = new Set(items.map(({ id }) => id));
  const stored = await readDeclared(tx, name, [...ids]);
  const before = new Map(stored.map((item) => [item.id, item]));
  const removed = stored.filter(({ id }) => !ids.has(id)).map(({ id }) => id);
  if (removed.length > 0) await deleteRecords(tx, collection, removed);
  await requireApplicable(tx, name, items, before);

  const added = items.filter(({ id }) => !before.has(id));
  const records = added.map(({ id, columns }) => ({ id, ...columns, declared: true }));
  if (records.length > 0) await insertRecords(tx, collection, records);
  const changes = items.flatMap(({ id, columns }) => {
    const item = before.get(id);
    const changed = item && Object.keys(columns).filter((column) => !isDeepStrictEqual(columns[column], item[column]));
    return item && (changed?.length || !item.declared) ? [{ id, columns, changed: changed ?? [] }] : [];
  });
  const updates = changes.map(({ id, columns, changed }) => ({
    ...Object.fromEntries(changed.map((column) => [column, columns[column]])),
    declared: true,
    id,
  }));
  if (updates.length > 0) await updateRecords(tx, collection, updates);

  const event = (action: 'create' | 'update' | 'delete', item: string) => ({ action, collection: name, item });
  return [
    ...removed.map((id) => event('delete', id)),
    ...added.map(({ id, fields }) => ({ ...event('create', id), changed: fields })),
    ...changes.flatMap(({ id, changed }) => (changed.length > 0 ? [{ ...event('update', id), changed }] : [])),
  ];
}

/** @throws {ConfigError} */
async function requireApplicable(
  tx: Executor,
  name: Name,
  items: readonly DeclaredItem[],
  before: ReadonlyMap<string, StoredItem>,
): Promise<void> {
  const faults: string[] = [];
  if (name === 'clients') {
    for (const { id, place, columns } of items)
      if (before.get(id) && before.get(id)?.type !== columns.type)
        faults.push(`${place}: type cannot be changed. Declare a client with another id instead`);
  } else {
    const byIdentifier = new Map(items.map((item) => [item.columns.identifier, item]));
    const identifiers = [...byIdentifier.keys()] as string[];
    for (const { id, value } of await rowsWithValues(tx, collections.resources, 'identifier', identifiers, 'exact')) {
      const item = byIdentifier.get(value);
      if (item && item.id !== id)
        faults.push(`${item.place}: identifier is that of the resource ${id}. Declare that id, or delete the resource`);
    }
  }
  if (faults.length > 0) throw configError(faults);
}

/** Stores declared secrets. After a change, the secret before it is accepted for another day. */
async function applySecrets(tx: Executor, clients: readonly DeclaredItem[], now: Date): Promise<ActivityEvent[]> {
  const events: ActivityEvent[] = [];
  for (const { id, secretHash: hash } of clients) {
    if (hash === undefined) continue;
    const current = await currentSecretHash(tx, id);
    if (current === hash) continue;
    const secret = { client: id, hash, createdAt: now };
    if (current === undefined) await insertClientSecrets(tx, [secret]);
    else await replaceClientSecret(tx, secret, new Date(now.getTime() + formerSecretLifetime));
    events.push({ action: 'secret_create', collection: 'clients', item: id });
  }
  return events;
}
