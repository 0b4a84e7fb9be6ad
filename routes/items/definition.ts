import type { TSchema } from '@sinclair/typebox';
import type { CollectionSchemas, ReadSchemas } from '../../schemas/collections.js';
import { isObject } from '../../schemas/common.js';
import { ApiError, type WriteErrors } from '../../schemas/errors.js';

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

/** Of the body of a SEARCH, the outer form alone: the query in it has the same faults as one in a URL. */
export const queryCheckedByTheDomain = () => (body: unknown) =>
  isObject(body) && (body.query === undefined || isObject(body.query))
    ? true
    : {
        error: new ApiError('INVALID_PAYLOAD', {
          reason: 'The body must be an object with a query, which is an object.',
        }),
      };
