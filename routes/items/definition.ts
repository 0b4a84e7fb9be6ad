import { Readable } from 'node:stream';
import { type TSchema, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CollectionSchemas, ReadSchemas } from '../../schemas/collections.js';
import { isObject } from '../../schemas/common.js';
import { ApiError, type WriteErrors } from '../../schemas/errors.js';
import type { App } from '../app.js';

/** A collection, as the routes that read it present it. */
export interface ReadRoutes {
  collection: 'users' | 'roles' | 'policies' | 'permissions' | 'activity';
  /** `User` makes `readUser`; `Users` makes `listUsers`. */
  one: string;
  many: string;
  tag: string;
  schemas: ReadSchemas;
  /** The form of the key, for the document. */
  key: TSchema;
}

/** A collection that is written, too. */
export interface CollectionRoutes extends ReadRoutes {
  collection: Exclude<ReadRoutes['collection'], 'activity'>;
  schemas: CollectionSchemas;
  /** What its writes can be refused with. */
  errors: WriteErrors;
  /** What an update of one item returns in addition to the item, and how the document describes it. */
  updated?: {
    response: TSchema;
    description: string;
    complete<Written>(request: FastifyRequest, key: string, written: Written): Promise<Written>;
  };
  /** Nobody writes it who may not read what they wrote. */
  isWrittenByAdministrators?: true;
}

/**
 * Items go out as they were selected: every name in them comes from the map of fields, so there is nothing to strip, and
 * which of them there are differs from query to query. The response schema describes them.
 */
export const itemSerializer = () => (payload: unknown) => JSON.stringify(payload);

/**
 * The domain checks keys, queries and items itself, for it answers each fault with a code of its own. The schemas
 * describe what it takes.
 */
export const checkedByTheDomain = () => () => true;

/** Writing many items, with a password each to be hashed, takes its time. Milliseconds. */
export const deadlineOfWrites = 300_000;

/** The headers of a list. */
export const listHeaders = {
  link: Type.String({
    description:
      'The next page (RFC 8288), if the list was requested with `limit=-1` and is longer than `QUERY_LIMIT_MAX`.',
    examples: ['<https://auth.example.com/users?limit=-1&cursor=eyJhZnRlciI6IjcifQ>; rel="next"'],
  }),
};

/** Sends the answer to a query. A list that was cut off says where it continues (RFC 8288). */
export function sendList(
  app: App,
  request: { url: string },
  reply: FastifyReply,
  { body, next }: Awaited<ReturnType<App['items']['list']>>,
) {
  if (next !== undefined) reply.header('link', `<${app.config.PUBLIC_URL}${continued(request.url, next)}>; rel="next"`);
  // In pieces, because one string of many megabytes would keep other requests waiting.
  return Array.isArray(body) ? reply.type('application/json; charset=utf-8').send(Readable.from(body)) : body;
}

/** The same list from a cursor on. Nothing else of the URL is repeated, because it may contain a token. */
function continued(url: string, cursor: string): string {
  const [path = '', query] = url.split('?', 2);
  const repeated = [...new URLSearchParams(query)].filter(([name]) =>
    /^(fields|filter|search|sort|limit|meta)\b/.test(name),
  );
  return `${path}?${new URLSearchParams([...repeated, ['cursor', cursor]])}`;
}

/** Of the body of a SEARCH, the outer form alone: the query in it has the same faults as one in a URL. */
export const queryCheckedByTheDomain = () => (body: unknown) =>
  isObject(body) && (body.query === undefined || isObject(body.query))
    ? true
    : {
        error: new ApiError('INVALID_PAYLOAD', {
          reason: 'The body must be an object with a query, which is an object.',
        }),
      };
