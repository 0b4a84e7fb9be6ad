import type { Field, Operator } from '../../model/fields.js';
import { operators } from '../../model/operators.js';
import { textIfAny } from '../../texts.js';
import type { FieldCondition } from './conditions.js';

/** How the operand of a condition is entered. */
type Input = 'text' | 'texts' | 'choices' | 'items' | 'ago' | 'moment' | 'moments' | 'boolean' | 'nothing';

/** A way to compare a field, as the editor offers it. Several can have the same operator, such as `before` and `more than … ago`. */
export interface Comparison {
  key: string;
  operator: FieldCondition['operator'];
  input: Input;
}

const withoutOperand = new Set<string>(['null', 'nnull', 'empty', 'nempty']);
const withTwo = new Set<string>(['between', 'nbetween']);
const withList = new Set<string>(['in', 'nin']);

/** What comes first, because it is used most. The others follow in the order of the API. */
const first: Readonly<Record<string, readonly Operator[]>> = {
  text: ['icontains', 'eq', 'neq', 'istarts_with', 'iends_with', 'in', 'nin', 'empty', 'nempty'],
  timestamp: ['lt', 'gte', 'between', 'null', 'nnull'],
  uuid: ['eq', 'in', 'neq', 'nin', 'null', 'nnull'],
  integer: [],
  boolean: ['eq'],
  json: ['nnull', 'null'],
};

/** The comparisons of a field, from the operators of its type. */
export function comparisonsOf({ name, filter, type }: Field): Comparison[] {
  if (filter === undefined) return [];
  if (filter === 'items')
    return [
      { key: 'some', operator: 'some', input: 'items' },
      { key: 'none', operator: 'none', input: 'items' },
      { key: 'some_any', operator: 'some', input: 'nothing' },
      { key: 'none_any', operator: 'none', input: 'nothing' },
    ];
  // Its value is a secret.
  if (name === 'tfa_secret')
    return [
      { key: 'on', operator: 'nnull', input: 'nothing' },
      { key: 'off', operator: 'null', input: 'nothing' },
    ];
  const known: readonly Operator[] = operators[filter];
  if (type === 'choice' || type === 'relation')
    return known
      .filter((operator) => withList.has(operator) || operator === 'null' || operator === 'nnull')
      .map((operator) => ({
        key: operator,
        operator,
        input: withList.has(operator) ? (type === 'choice' ? 'choices' : 'items') : 'nothing',
      }));
  const ordered = [...(first[filter] ?? []), ...known].filter(
    (operator, index, all) => all.indexOf(operator) === index && known.includes(operator),
  );
  const plain = ordered.map((operator) => ({
    key: filter === 'timestamp' ? timeKeyOf(operator) : operator,
    operator,
    input: inputOf(filter, operator),
  }));
  if (filter === 'boolean') return plain.filter(({ operator }) => operator !== 'neq');
  return filter === 'timestamp'
    ? [{ key: 'older', operator: 'lt', input: 'ago' }, { key: 'newer', operator: 'gte', input: 'ago' }, ...plain]
    : plain;
}

/** Times are `before` and `after`, not `less than` and `greater than`. */
const timeKeyOf = (operator: Operator): string =>
  ({ lt: 'before', lte: 'not_after', gt: 'after', gte: 'not_before' })[operator as string] ?? operator;

function inputOf(filter: keyof typeof operators, operator: Operator): Input {
  if (withoutOperand.has(operator)) return 'nothing';
  if (filter === 'boolean') return 'boolean';
  if (filter === 'timestamp' && !withList.has(operator)) return withTwo.has(operator) ? 'moments' : 'moment';
  return withList.has(operator) || withTwo.has(operator) ? 'texts' : 'text';
}

export const comparisonText = (key: string): string => textIfAny(`operator_${key}`) ?? key.replaceAll('_', ' ');

/** A time before now, in the notation of the API: `$NOW(-30 days)`. */
export interface Age {
  count: number;
  unit: AgeUnit;
}
export const ageUnits = ['minutes', 'hours', 'days', 'weeks', 'months', 'years'] as const;
export type AgeUnit = (typeof ageUnits)[number];

const spellings: Readonly<Record<AgeUnit, RegExp>> = {
  minutes: /^(?:min|minutes?)$/,
  hours: /^(?:h|hours?)$/,
  days: /^(?:d|days?)$/,
  weeks: /^(?:w|weeks?)$/,
  months: /^(?:mo|months?)$/,
  years: /^(?:y|years?)$/,
};

export function readAge(value: unknown): Age | undefined {
  const [, count, name = ''] = /^\$NOW\(-(\d+) *([a-z]+)\)$/.exec(String(value)) ?? [];
  const unit = ageUnits.find((one) => spellings[one].test(name));
  return unit && { count: Number(count), unit };
}

export const writeAge = ({ count, unit }: Age): string => `$NOW(-${count} ${unit})`;

/** Whether a comparison leaves out items without a value, although users may expect them. */
export const leavesOutEmpty = ({ key, operator, input }: Comparison): boolean =>
  input !== 'nothing' && operator !== 'none' && (/^n/.test(operator) || ['older', 'before', 'not_after'].includes(key));

/** The comparison that a condition uses. */
export function comparisonOf(field: Field, { operator, value }: FieldCondition): Comparison | undefined {
  const all = comparisonsOf(field);
  if (operator === 'some' || operator === 'none') {
    const isAny = (value as readonly string[]).length === 0;
    return all.find(({ key }) => key === (isAny ? `${operator}_any` : operator));
  }
  if (readAge(value)) {
    const isOlder = operator === 'lt' || operator === 'lte';
    if (isOlder || operator === 'gt' || operator === 'gte')
      return all.find(({ key }) => key === (isOlder ? 'older' : 'newer'));
  }
  // Choices and relations are always compared with a list, which may have one item.
  const meant = { eq: 'in', neq: 'nin' }[operator as string];
  return (
    all.find(({ operator: own, input }) => own === operator && input !== 'ago') ??
    all.find(({ operator: own }) => own === meant)
  );
}

/** The operand of a condition as the values of a list. */
export const valuesOf = ({ value }: FieldCondition): string[] =>
  Array.isArray(value) ? value.map(String) : [String(value)];
