import type { TSchema } from '@sinclair/typebox';

/** The error for a value that a schema rejects. Without one, the message of the validator is returned. */
export interface Refusal {
  code: 'INVALID_PAYLOAD' | 'INVALID_QUERY';
  reason: string;
}

const refusal = Symbol('refusal');

/** Returns this error to clients whose value does not match the schema. */
export const refusedWith = <T extends TSchema>(code: Refusal['code'], reason: string, schema: T): T => ({
  ...schema,
  [refusal]: { code, reason } satisfies Refusal,
});

/** The error of `refusedWith`, if the schema has one. */
export const refusalOf = (schema: object): Refusal | undefined => (schema as { [refusal]?: Refusal })[refusal];
