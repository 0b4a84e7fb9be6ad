import { invalidQuery } from './invalid-query.js';
import { isStorable } from './timestamps.js';

/** The values of a filter's dynamic variables in this request. */
export interface Variables {
  now: Date;
  user: string | null;
  role: string | null;
  roles: readonly string[];
  policies: readonly string[];
}

const units: Readonly<Record<string, readonly string[]>> = {
  milliseconds: ['ms', 'msec', 'msecs', 'millisecond', 'milliseconds'],
  seconds: ['s', 'sec', 'secs', 'second', 'seconds'],
  minutes: ['m', 'min', 'mins', 'minute', 'minutes'],
  hours: ['h', 'hr', 'hrs', 'hour', 'hours'],
  days: ['d', 'day', 'days'],
  weeks: ['w', 'week', 'weeks'],
  months: ['mo', 'month', 'months'],
  years: ['y', 'yr', 'yrs', 'year', 'years'],
};
const unitOf = new Map(Object.entries(units).flatMap(([unit, names]) => names.map((name) => [name, unit])));

const inMilliseconds: Readonly<Record<string, number>> = {
  milliseconds: 1,
  seconds: 1000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
  weeks: 604_800_000,
};

/** The value of a variable; undefined when the text is not a variable, null when the variable has no value in this request. */
export function resolveVariable(value: unknown, variables: Variables): string | readonly string[] | null | undefined {
  if (typeof value !== 'string' || !value.startsWith('$')) return undefined;
  switch (value) {
    case '$CURRENT_USER':
      return variables.user;
    case '$CURRENT_ROLE':
      return variables.role;
    case '$CURRENT_ROLES':
      return variables.roles;
    case '$CURRENT_POLICIES':
      return variables.policies;
    case '$NOW':
      return variables.now.toISOString();
    default: {
      const adjustment = /^\$NOW\((.*)\)$/.exec(value)?.[1];
      return adjustment === undefined ? undefined : shift(variables.now, adjustment).toISOString();
    }
  }
}

/** Shifts a time by an amount such as `-1 day`; months and years follow the calendar, in UTC. */
function shift(moment: Date, adjustment: string): Date {
  const [, sign = '', digits = '', word = ''] = /^\s*([+-]?)\s*(\d{1,9})\s*([a-z]+)\s*$/i.exec(adjustment) ?? [];
  const unit = unitOf.get(word.toLowerCase());
  if (unit === undefined) throw invalidQuery(`$NOW(${adjustment}) is invalid. Use a form such as $NOW(-1 day).`);
  const amount = (sign === '-' ? -1 : 1) * Number(digits);
  const moved = new Date(moment);
  if (unit === 'months') moved.setUTCMonth(moved.getUTCMonth() + amount);
  else if (unit === 'years') moved.setUTCFullYear(moved.getUTCFullYear() + amount);
  else moved.setTime(moved.getTime() + amount * (inMilliseconds[unit] ?? 0));
  if (!isStorable(moved)) throw invalidQuery(`$NOW(${adjustment}) is out of range`);
  return moved;
}
