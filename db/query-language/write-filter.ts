import type { Filter, Scalar } from './filter.js';

type Written = Record<string, unknown>;

/**
 * Writes a parsed filter in the query language, with the values of its variables.
 * @param replaced replaces values, for example with the name of a variable
 */
export function writeFilter(filter: Filter, replaced: (value: Scalar) => Scalar = (value) => value): Written {
  const write = (part: Filter): Written => {
    switch (part.kind) {
      case 'never':
        return { _or: [] };
      case 'or':
        return { _or: part.filters.map(write) };
      case 'and': {
        const parts = part.filters.map(write);
        const keys = parts.flatMap((one) => Object.keys(one));
        // Conditions on different fields need no group. A filter can have only a few levels.
        const isFlat = keys.length > 0 && new Set(keys).size === keys.length;
        return isFlat ? Object.assign({}, ...parts) : { _and: parts };
      }
      case 'through':
        return { [part.field]: write(part.filter) };
      case 'some':
      case 'none':
        return { [part.field]: { [`_${part.kind}`]: write(part.filter) } };
      case 'reachable':
        throw new Error('Only the rules of activity, emails, and sessions depend on the reach of the caller.');
      case 'compare': {
        const values = part.values.map(replaced);
        const isList = listOperators.has(part.operator);
        return { [part.field]: { [`_${part.operator}`]: isList ? values : (values[0] ?? true) } };
      }
    }
  };
  return write(filter);
}

const listOperators: ReadonlySet<string> = new Set(['in', 'nin', 'between', 'nbetween']);
