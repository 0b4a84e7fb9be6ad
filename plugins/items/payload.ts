import type { Columns, Key } from '../../db/queries/items/writes.js';
import type { Collection, ListField, ValueField } from '../../db/query-language/collections.js';
import { readMoment } from '../../db/query-language/timestamps.js';
import { isObject, uuidPattern } from '../../schemas/common.js';
import { ApiError, valueTooLong } from '../../schemas/errors.js';

/** The values to write for one item: its own columns, and the keys of the items that it links to. */
export interface Payload {
  columns: Columns;
  links: Map<string, Key[]>;
}

/** Fields with their own write logic. Each function validates the value and adds the resulting columns to the payload. */
export type SpecialFields = Readonly<Record<string, (value: unknown, payload: Payload) => void>>;

export const invalidPayload = (reason: string) => new ApiError('INVALID_PAYLOAD', { reason });

/** @throws {ApiError} INVALID_PAYLOAD for a field that does not exist or that only the service can write */
export function requireFields(collection: Collection, input: object, special: SpecialFields): void {
  const unknown = Object.keys(input).find((name) => !Object.hasOwn(special, name) && !collection.fields.has(name));
  if (unknown !== undefined) throw invalidPayload(`${collection.name} has no field "${unknown.slice(0, 64)}"`);
  const readOnly = Object.keys(input).find((name) => {
    const field = collection.fields.get(name);
    return field?.kind === 'value' && field.readOnly;
  });
  if (readOnly !== undefined) throw invalidPayload(`${readOnly} is read-only`);
}

/**
 * Validates a client's input field by field. Every field must exist and be writable from this collection, and every value
 * must have the right type and fit its column.
 * @throws {ApiError} INVALID_PAYLOAD, VALUE_TOO_LONG, NOT_NULL_VIOLATION
 */
export function readPayload(collection: Collection, input: Record<string, unknown>, special: SpecialFields): Payload {
  requireFields(collection, input, special);
  const payload: Payload = { columns: {}, links: new Map() };
  for (const [name, value] of Object.entries(input)) {
    const field = collection.fields.get(name);
    if (Object.hasOwn(special, name)) special[name]?.(value, payload);
    else if (field?.kind === 'list') payload.links.set(name, readLinks(name, field, value));
    else if (field) payload.columns[field.column] = readValue(collection, name, field, value);
  }
  return payload;
}

function readLinks(name: string, field: ListField, value: unknown): Key[] {
  if (!field.held) throw invalidPayload(`${name} cannot be written here. Update the ${field.target} instead.`);
  if (value === null) return [];
  if (!Array.isArray(value)) throw invalidPayload(`${name} must be a list of keys`);
  return value.map((item: unknown) => {
    const key = isObject(item) && Object.keys(item).length === 1 ? item.id : item;
    if (typeof key !== 'string' || !uuidPattern.test(key)) throw invalidPayload(`${name} must be a list of UUIDs`);
    return key.toLowerCase();
  });
}

export function readValue(collection: Collection, name: string, field: ValueField, value: unknown): unknown {
  if (value === null) {
    if (field.required) throw new ApiError('NOT_NULL_VIOLATION', { collection: collection.name, field: name });
    return null;
  }
  const refuse = (what: string) => invalidPayload(`${name} must be ${what}`);
  switch (field.type) {
    case 'text':
      if (typeof value !== 'string') throw refuse('a string');
      if (field.maxLength !== undefined && [...value].length > field.maxLength) {
        throw valueTooLong(collection.name, name, value, `${field.maxLength} characters`);
      }
      return value;
    case 'uuid':
      if (typeof value !== 'string' || !uuidPattern.test(value)) throw refuse('a UUID');
      return value.toLowerCase();
    case 'boolean':
      if (typeof value !== 'boolean') throw refuse('true or false');
      return value;
    case 'integer':
      if (typeof value !== 'number' || !Number.isInteger(value)) throw refuse('an integer');
      if (Math.abs(value) > 2_147_483_647) {
        throw new ApiError('VALUE_OUT_OF_RANGE', { collection: collection.name, field: name, value });
      }
      return value;
    case 'timestamp': {
      const moment = typeof value === 'string' ? readMoment(value) : undefined;
      if (moment === undefined) throw refuse('an ISO 8601 date');
      return moment;
    }
    case 'json':
      return readJson(collection, name, field, value);
  }
}

function readJson(collection: Collection, name: string, field: ValueField, value: unknown): unknown {
  const tooLong = (limit: string) => valueTooLong(collection.name, name, null, limit);
  if (field.maxList) {
    const isList = Array.isArray(value) && value.every((item) => typeof item === 'string');
    if (!isList) throw invalidPayload(`${name} must be a list of strings`);
    const { items, length } = field.maxList;
    if (value.length > items) throw tooLong(`${items} values`);
    if (value.some((item) => [...item].length > length)) throw tooLong(`${length} characters in each value`);
    return value;
  }
  if (!isObject(value)) throw invalidPayload(`${name} must be an object`);
  if (field.maxBytes !== undefined && Buffer.byteLength(JSON.stringify(value)) > field.maxBytes)
    throw tooLong(`${field.maxBytes} bytes as JSON`);
  return value;
}

/** Converts an item's key to the form that the database returns. Undefined: the value cannot be a key. */
export function readKey(collection: Pick<Collection, 'keyType'>, value: unknown): Key | undefined {
  if (collection.keyType === 'uuid') {
    return typeof value === 'string' && uuidPattern.test(value) ? value.toLowerCase() : undefined;
  }
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && Math.abs(number) <= 2_147_483_647
    ? number
    : undefined;
}
