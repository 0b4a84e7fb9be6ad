/** The types of field values that filters distinguish. */
export type ValueType = 'text' | 'uuid' | 'boolean' | 'json' | 'timestamp' | 'integer';

const equality = ['eq', 'neq'] as const;
const membership = ['in', 'nin'] as const;
const nullness = ['null', 'nnull'] as const;
const order = ['lt', 'lte', 'gt', 'gte', 'between', 'nbetween'] as const;
const textual = [
  'empty',
  'nempty',
  'contains',
  'ncontains',
  'icontains',
  'starts_with',
  'nstarts_with',
  'istarts_with',
  'nistarts_with',
  'ends_with',
  'nends_with',
  'iends_with',
  'niends_with',
] as const;

export type Operator =
  | (typeof equality)[number]
  | (typeof membership)[number]
  | (typeof nullness)[number]
  | (typeof order)[number]
  | (typeof textual)[number];

/** The operators for each type. */
export const operatorsOf: Readonly<Record<ValueType, readonly Operator[]>> = {
  text: [...equality, ...membership, ...nullness, ...textual],
  uuid: [...equality, ...membership, ...nullness],
  boolean: [...equality, ...nullness],
  json: nullness,
  timestamp: [...equality, ...order, ...membership, ...nullness],
  integer: [...equality, ...order, ...membership, ...nullness],
};
