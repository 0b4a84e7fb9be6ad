import { ApiError } from '../../schemas/errors.js';

/** A query that cannot be parsed or that is not valid. */
export const invalidQuery = (reason: string) => new ApiError('INVALID_QUERY', { reason });

/** A field that does not exist or may not be read. The error does not say which, so that clients cannot find out which fields exist. */
export const forbiddenField = (collection: string, field: string) =>
  new ApiError('FORBIDDEN', {
    reason: `The field "${field.slice(0, 64)}" of ${collection} does not exist, or you are not allowed to use it`,
  });
