import { Readable } from 'node:stream';
import { type TInteger, type TSchema, type TString, Type } from '@sinclair/typebox';
import type { FastifyContextConfig, FastifyReply } from 'fastify';
import type { CollectionSchemas, ReadSchemas } from '../../schemas/collections.js';
import type { WriteErrors } from '../../schemas/errors.js';
import type { Need } from '../../schemas/needs.js';
import type { App } from '../app.js';

interface Nouns {
  one: string;
  many: string;
}

/** Collections that are only for administrators, whatever the permissions. */
const administratorCollections = ['clients', 'resources'] as const;
type AdministratorCollection = (typeof administratorCollections)[number];

/** What the read routes of a collection need to know about it. */
export interface ReadRoutes {
  collection: 'users' | 'roles' | 'policies' | 'permissions' | 'activity' | AdministratorCollection;
  /** Used in operation IDs: `one` (`User`) gives `readUser`, and `many` (`Users`) gives `listUsers`. */
  one: string;
  many: string;
  /** What the texts of the OpenAPI document call an item, if not `one` in lower case. */
  nouns?: Nouns;
  tag: string;
  schemas: ReadSchemas;
  /** The schema of the key. */
  key: TString | TInteger;
  /** What only administrators may do with its items, whatever the permissions. */
  administratorsOnly?: readonly Action[];
  /** What single operations declare in addition to what they have in common. */
  config?: Partial<Record<ItemOperation, FastifyContextConfig>>;
}

/** What the read and write routes of a collection need to know about it. */
export interface CollectionRoutes extends ReadRoutes {
  collection: Exclude<ReadRoutes['collection'], 'activity'>;
  schemas: CollectionSchemas;
  /** The errors that its write operations can return. */
  errors: WriteErrors;
  /** What is special about creating items: a text for the OpenAPI document. */
  created?: string;
  /** What is special about its updates: the schemas of their responses, and a description for the OpenAPI document. */
  updated?: Record<'one' | 'many', { response: TSchema; description: string }>;
}

export const nounsOf = ({ one, many, nouns }: ReadRoutes): Nouns =>
  nouns ?? { one: one.toLowerCase(), many: many.toLowerCase() };

type Action = 'create' | 'read' | 'update' | 'delete';

/** The operations on the items of a collection, with their actions. */
const actions = {
  list: 'read',
  search: 'read',
  read: 'read',
  create: 'create',
  update: 'update',
  updateMany: 'update',
  delete: 'delete',
  deleteMany: 'delete',
} as const;
type ItemOperation = keyof typeof actions;

/** Whether only administrators may do this with the items of a collection. */
export const isForAdministrators = ({ collection, administratorsOnly = [] }: ReadRoutes, action: Action): boolean =>
  isAdministratorCollection(collection) || administratorsOnly.includes(action);

const isAdministratorCollection = (collection: ReadRoutes['collection']): collection is AdministratorCollection =>
  administratorCollections.some((name) => name === collection);

/** Who may call an operation on the items of a collection, and how it is recorded. */
export function configOf(definition: ReadRoutes, operation: ItemOperation): FastifyContextConfig {
  const { collection, config } = definition;
  const action = actions[operation];
  const needs: Need =
    isAdministratorCollection(collection) || isForAdministrators(definition, action)
      ? 'administrator'
      : { collection, action };
  const access = { access: 'permission', needs, scope: `${collection}:${action}`, ...config?.[operation] } as const;
  if (action === 'read' || collection === 'activity') return access;
  const isOnSeveralUsers = collection === 'users' && (operation === 'create' || operation === 'updateMany');
  const dryRun = action === 'delete' || isOnSeveralUsers ? ({ supportsDryRun: true } as const) : {};
  return { ...access, recordedAs: [action, collection], acceptsUnknownKeys: true, ...dryRun };
}

/**
 * Serializes items as they were selected. Every key comes from the field map, so nothing has to be stripped, and the set
 * of keys differs from query to query. The response schema only documents them.
 */
export const itemSerializer = () => (payload: unknown) => JSON.stringify(payload);

/** Milliseconds. Generous, because writing many items can mean hashing a password for each of them. */
export const writeTimeoutMs = 300_000;

/** The headers of a list response. */
export const listHeaders = {
  link: Type.String({
    description:
      'A link to the next page (RFC 8288). Sent if the list was requested with `limit=-1` and is longer than `QUERY_LIMIT_MAX`.',
    examples: ['<https://auth.example.com/users?limit=-1&cursor=eyJhZnRlciI6IjcifQ>; rel="next"'],
  }),
};

/** Sends the response to a query. If the list is truncated, the Link header refers to the next page (RFC 8288). */
export function sendList(
  app: App,
  request: { url: string },
  reply: FastifyReply,
  { body, next }: Awaited<ReturnType<App['items']['list']>>,
) {
  if (next !== undefined) reply.header('link', `<${app.config.PUBLIC_URL}${continued(request.url, next)}>; rel="next"`);
  // Sent in chunks, because a single string of many megabytes would block other requests.
  return Array.isArray(body) ? reply.type('application/json; charset=utf-8').send(Readable.from(body)) : body;
}

/** The URL of the same list, starting at a cursor. Copies only known query parameters, because the URL may contain a token. */
function continued(url: string, cursor: string): string {
  const [path = '', query] = url.split('?', 2);
  const repeated = [...new URLSearchParams(query)].filter(([name]) =>
    /^(fields|filter|search|sort|limit|meta)\b/.test(name),
  );
  return `${path}?${new URLSearchParams([...repeated, ['cursor', cursor]])}`;
}
