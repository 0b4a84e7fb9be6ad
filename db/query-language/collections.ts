import { type SQL, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { ValueType } from '../../schemas/operators.js';
import {
  activity,
  clients,
  permissions,
  policies,
  resources,
  rolePolicies,
  roles,
  userPolicies,
  users,
  userUses,
} from '../schema.js';

export type CollectionName = 'users' | 'roles' | 'policies' | 'permissions' | 'activity' | 'clients' | 'resources';

/** The collections that requests may write to. */
export type WritableCollection = Exclude<CollectionName, 'activity'>;

/** The collections that permission rules can be about: those above, and those that have routes of their own instead of queries. */
export type RuledCollectionName = CollectionName | 'mails' | 'sessions';

/** A field that holds a value. */
export interface ValueField {
  kind: 'value';
  column: string;
  type: ValueType;
  /** Replaced by ten asterisks when set: in responses, filters and sorts alike, so that nothing else about the value can leak. */
  concealed?: true;
  /** The collection whose key the value is. */
  target?: CollectionName;
  /** Longest text that the column accepts, in characters. */
  maxLength?: number;
  /** Longest JSON that is accepted, in bytes. */
  maxBytes?: number;
  /** For a list of texts: the maximum number of texts, and the maximum length of each in characters. */
  maxList?: { items: number; length: number };
  /** Never null. */
  required?: true;
  /** Written by the service only: a request with this field in its body is rejected. */
  readOnly?: true;
  /** A search matches only the whole value, as for keys, and never a part of it. */
  whole?: true;
  /** An email address, which is unique in any letter case: indexed in lower case, by the rules of the "C" collation. */
  folded?: true;
  /** Stored in the table beside the collection's own: see {@link Collection.beside}. */
  beside?: true;
  /** A query returns it only if it names it: a wildcard does not. */
  onlyByName?: true;
  /** The value is indexed only approximately, because it changes often. */
  coarse?: Coarse;
}

/** How a value is indexed approximately. */
export interface Coarse {
  /** The indexed column: the value, rounded down; null if there is no value. */
  column: string;
  round(value: SQL): SQL;
  /** The second column of the index, which contains the key of the item if there is no value. */
  keyIfNull: string;
}

/** A field that lists items of another collection. */
export interface ListField {
  kind: 'list';
  target: CollectionName;
  /** Either the column of the target that holds this item's key, or the table that links the two. */
  link: { column: string } | LinkTable;
  /** The links are data of the item, like a key. Their ids are returned whether or not the caller may read the items they refer to. */
  held?: true;
}

/** A table that links items: the columns with the keys of this item and of the other one. */
export interface LinkTable {
  table: PgTable;
  own: string;
  other: string;
}

export type Field = ValueField | ListField;

export interface Collection extends RuledCollection {
  name: CollectionName;
  table: PgTable;
}

/** The fields of a collection. */
export interface RuledCollection {
  name: RuledCollectionName;
  /** A table with exactly one row for each item, for columns that change often. `key` is its primary key, which refers to the item. */
  beside?: { table: PgTable; key: string };
  keyType: 'uuid' | 'integer';
  /** Only administrators can read and write the items, whatever the permissions. */
  isForAdministrators?: true;
  /**
   * The field that names the user whom an item is about. Whatever the permissions, callers who are not administrators can access an item
   * only if the rights of that user do not exceed their own. Items without a user are only for administrators.
   */
  owner?: string;
  /** Every field that a query may name, in the order of responses. Fields that are not listed here do not exist. */
  fields: ReadonlyMap<string, Field>;
  /**
   * Fields that a query returns only if it names them, for callers who may read the other collection. They are read for each page,
   * so a query cannot filter or sort by them.
   */
  onRequest?: { names: ReadonlySet<string>; requires: RuledCollectionName };
  /** Fields of responses that are not stored, so that no rule can be about them. */
  computed?: ReadonlySet<string>;
}

/** The fields for which a wildcard stands. */
export const wildcardFields = ({ fields }: RuledCollection): [string, Field][] =>
  [...fields].filter(([, field]) => field.kind === 'list' || !field.onlyByName);

/** Whether a permission can name a field. */
export const hasField = ({ fields, computed }: RuledCollection, name: string): boolean =>
  fields.has(name) || computed?.has(name) === true;

const value = (column: string, type: ValueType, more: Partial<ValueField> = {}): ValueField => ({
  kind: 'value',
  column,
  type,
  ...more,
});

/** Fields with the same name as their column. */
const values = (type: ValueType, ...names: string[]): [string, Field][] =>
  names.map((name) => [name, value(name, type)]);

const texts = (maxLength: number, ...names: string[]): [string, Field][] =>
  names.map((name) => [name, value(name, 'text', { maxLength })]);

/** JSON objects. @param maxBytes maximum size of each as JSON */
const objects = (maxBytes: number, ...names: string[]): [string, Field][] =>
  names.map((name) => [name, value(name, 'json', { maxBytes })]);

const required = (type: ValueType, maxLength: number | undefined, ...names: string[]): [string, Field][] =>
  names.map((name) => [name, value(name, type, { required: true, ...(maxLength === undefined ? {} : { maxLength }) })]);

const collection = (
  name: CollectionName,
  table: PgTable,
  keyType: Collection['keyType'],
  ...fields: [string, Field][]
): Collection => ({ name, table, keyType, fields: new Map(fields) });

/** Lists of at most `items` texts. @param length maximum length of each, in characters */
const lists = (maxList: { items: number; length: number }, ...names: string[]): [string, Field][] =>
  names.map((name) => [name, value(name, 'json', { required: true, maxList })]);

const createdAt: [string, Field] = ['created_at', value('created_at', 'timestamp', { required: true, readOnly: true })];

/** The lists of URIs of a client, and of scopes. */
const uriList = { items: 50, length: 2000 };
const scopeList = { items: 200, length: 128 };

/** Maximum size of the data that a provider supplies about a user, in bytes of JSON. */
export const maxAuthDataBytes = 64 * 1024;

/** The only way from names to SQL: every name from a client is looked up here, and nothing else reaches a statement. */
export const collections: Readonly<Record<CollectionName, Collection>> = {
  users: {
    ...collection(
      'users',
      users,
      'uuid',
      ...required('uuid', undefined, 'id'),
      ...texts(50, 'first_name', 'last_name'),
      ['email', value('email', 'text', { maxLength: 128, folded: true })],
      ...texts(255, 'location'),
      ...texts(50, 'title'),
      ...texts(10_000, 'description'),
      ['tags', value('tags', 'json', { maxList: { items: 100, length: 100 } })],
      ['avatar', value('avatar', 'text', { maxLength: 255, whole: true })],
      ...texts(255, 'language'),
      ['tfa_secret', value('tfa_secret', 'text', { concealed: true })],
      ...required('text', 16, 'status'),
      ['role', value('role', 'uuid', { target: 'roles' })],
      ['token', value('token_hash', 'text', { concealed: true, maxLength: 255 })],
      [
        'policies',
        { kind: 'list', target: 'policies', link: { table: userPolicies, own: 'user', other: 'policy' }, held: true },
      ],
      [
        'last_access',
        value('last_access', 'timestamp', {
          beside: true,
          coarse: {
            column: 'last_access_hour',
            round: (time) => sql`date_trunc('hour', ${time} at time zone 'UTC')`,
            keyIfNull: 'never_used',
          },
        }),
      ],
      ...texts(255, 'last_page'),
      ...required('text', 128, 'provider'),
      ...texts(255, 'external_identifier'),
      ...objects(maxAuthDataBytes, 'auth_data'),
      ...required('boolean', undefined, 'email_notifications'),
      ...texts(255, 'appearance', 'theme_dark', 'theme_light'),
      ...objects(16 * 1024, 'theme_light_overrides', 'theme_dark_overrides'),
      createdAt,
      ['email_verified_at', value('email_verified_at', 'timestamp', { readOnly: true })],
      ['invite_expires_at', value('invite_expires_at', 'timestamp', { readOnly: true, onlyByName: true })],
    ),
    beside: { table: userUses, key: 'user' },
    onRequest: { names: new Set(['locked_until', 'has_password', 'last_failure']), requires: 'activity' },
  },
  roles: collection(
    'roles',
    roles,
    'uuid',
    ...required('uuid', undefined, 'id'),
    ...required('text', 100, 'name'),
    ...texts(64, 'icon'),
    ...texts(10_000, 'description'),
    ['parent', value('parent', 'uuid', { target: 'roles' })],
    ['children', { kind: 'list', target: 'roles', link: { column: 'parent' } }],
    [
      'policies',
      { kind: 'list', target: 'policies', link: { table: rolePolicies, own: 'role', other: 'policy' }, held: true },
    ],
    ['users', { kind: 'list', target: 'users', link: { column: 'role' } }],
  ),
  policies: collection(
    'policies',
    policies,
    'uuid',
    ...required('uuid', undefined, 'id'),
    ...required('text', 100, 'name'),
    ...texts(64, 'icon'),
    ...texts(10_000, 'description'),
    ['ip_access', value('ip_access', 'json', { maxList: { items: 200, length: 100 } })],
    ...required('boolean', undefined, 'enforce_tfa', 'admin_access', 'app_access'),
    ['permissions', { kind: 'list', target: 'permissions', link: { column: 'policy' } }],
    ['users', { kind: 'list', target: 'users', link: { table: userPolicies, own: 'policy', other: 'user' } }],
    ['roles', { kind: 'list', target: 'roles', link: { table: rolePolicies, own: 'policy', other: 'role' } }],
  ),
  permissions: collection(
    'permissions',
    permissions,
    'integer',
    ...required('integer', undefined, 'id'),
    ['policy', value('policy', 'uuid', { target: 'policies', required: true })],
    ...required('text', 64, 'collection'),
    ...required('text', 16, 'action'),
    ...objects(16 * 1024, 'permissions', 'validation', 'presets'),
    ['fields', value('fields', 'json', { maxList: { items: 500, length: 255 } })],
  ),
  clients: {
    ...collection(
      'clients',
      clients,
      'uuid',
      ...required('uuid', undefined, 'id'),
      ...required('text', 100, 'name'),
      ...texts(2000, 'logo_uri'),
      ...required('text', 16, 'type'),
      ...lists(uriList, 'redirect_uris', 'post_logout_redirect_uris', 'allowed_origins'),
      ...lists({ items: 10, length: 100 }, 'grant_types'),
      ['scopes', value('scopes', 'json', { maxList: scopeList })],
      ...lists({ items: 100, length: 255 }, 'resources'),
      ...required('boolean', undefined, 'first_party', 'minimal_id_token'),
      ...texts(16, 'access_token_ttl', 'refresh_token_ttl'),
      ...required('text', 16, 'id_token_signed_response_alg'),
      ...texts(2000, 'backchannel_logout_uri'),
      ...required('boolean', undefined, 'pkce_required'),
      createdAt,
    ),
    isForAdministrators: true,
  },
  resources: {
    ...collection(
      'resources',
      resources,
      'uuid',
      ...required('uuid', undefined, 'id'),
      ...required('text', 255, 'identifier'),
      ...required('text', 100, 'name'),
      ...lists(scopeList, 'scopes'),
      ...required('text', 16, 'access_token_ttl'),
      ...required('boolean', undefined, 'open_to_unregistered'),
      createdAt,
    ),
    isForAdministrators: true,
  },
  activity: {
    ...collection(
      'activity',
      activity,
      'uuid',
      ...required('uuid', undefined, 'id'),
      ...required('timestamp', undefined, 'timestamp'),
      ...required('text', 32, 'action'),
      ...required('text', 16, 'outcome'),
      ...texts(32, 'code', 'reason'),
      ['user', value('user', 'uuid', { target: 'users' })],
      ['actor', value('actor', 'uuid', { target: 'clients' })],
      ...texts(16, 'collection'),
      ...texts(64, 'item'),
      ...texts(45, 'ip'),
      ...texts(255, 'user_agent'),
      ...texts(128, 'request_id'),
      ...values('json', 'changed'),
    ),
    owner: 'user',
  },
};

/** All collections that permission rules can be about. */
export const ruledCollections: Readonly<Record<RuledCollectionName, RuledCollection>> = {
  ...collections,
  sessions: {
    name: 'sessions',
    keyType: 'uuid',
    owner: 'user',
    fields: new Map([
      ...required('uuid', undefined, 'id'),
      ['user', value('user', 'uuid', { target: 'users', required: true })],
      ...texts(255, 'user_agent'),
      ['address', value('ip', 'text', { maxLength: 45 })],
      ...required('timestamp', undefined, 'created_at', 'last_used_at', 'expires_at'),
    ]),
    computed: new Set(['device', 'current', 'applications']),
  },
  mails: {
    name: 'mails',
    keyType: 'uuid',
    owner: 'user',
    fields: new Map([
      ...required('uuid', undefined, 'id'),
      ...required('text', 32, 'kind', 'state'),
      ['user', value('user', 'uuid', { target: 'users' })],
      ...texts(255, 'email'),
      ...required('integer', undefined, 'attempts'),
      ...required('timestamp', undefined, 'created_at'),
      ...values('timestamp', 'next_attempt_at'),
      ...values('text', 'limit', 'reason'),
    ]),
  },
};
