import { createHash } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../../schemas/errors.js';

export const maxKeyLength = 255;

/** The header, as the OpenAPI document describes it. */
export const IdempotencyKeyHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: maxKeyLength,
      description:
        'Makes it safe to repeat the request, for example after a connection has failed. For a day, a repeated request with the same key gets the response to the first one, with the header `Idempotency-Replayed: true`, and changes nothing. Use a new random key, such as a UUID, for each request. Requires a credential; without one, the header is ignored.',
      examples: ['3f1a8a52-6d5e-4c1b-9d0c-8f6f3f0a2b41'],
    }),
  ),
});

/** Whether an operation accepts the header: every POST and PATCH, except those with which users sign in. */
export const acceptsIdempotencyKey = ({ method, url }: { method: string | string[]; url: string }): boolean =>
  [method].flat().every((name) => name === 'POST' || name === 'PATCH') && !/^\/auth(\/|$)/.test(url);

/** The key of a request. @throws {ApiError} INVALID_PAYLOAD */
export function idempotencyKeyOf({ headers, raw }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  const isRepeated =
    raw.rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'idempotency-key').length > 1;
  if (typeof key !== 'string' || isRepeated || key === '' || key.length > maxKeyLength) {
    throw new ApiError('INVALID_PAYLOAD', {
      reason: `Idempotency-Key must be sent once and have 1 to ${maxKeyLength} characters`,
    });
  }
  return key;
}

/** Identifies what a request asks for. The order of parameters and of keys in the body does not matter. */
export function fingerprintOf({ method, path, query, body }: FastifyRequest): string {
  const { access_token: _token, ...parameters } = query as Record<string, unknown>;
  return createHash('sha256')
    .update(canonical([method, path, parameters, body]))
    .digest('base64url');
}

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
