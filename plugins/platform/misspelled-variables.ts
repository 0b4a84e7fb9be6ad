import { Config } from '../../schemas/config.js';
import { listOf } from '../../schemas/config-values.js';
import { ProviderVariables } from '../../schemas/provider-config.js';
import { type Environment, fileVariables } from './environment.js';
import { prefixOf } from './provider-config.js';

export interface MisspelledVariable {
  name: string;
  /** The variable of the service that it resembles. */
  intended: string;
}

/** Shorter names, such as HOST and PORT, are too similar to unrelated ones. */
const minLengthForOneTypo = 8;
/** For names of at least this length, two typing errors are tolerated. */
const minLengthForTwoTypos = 11;

/**
 * Finds unknown variables whose names differ from a known one only in letter case, or by one or two typing errors. They have
 * no effect, which is easy to miss.
 */
export function findMisspelledVariables(env: Environment): MisspelledVariable[] {
  const providers = listOf(env.AUTH_PROVIDERS ?? '').map(prefixOf);
  const ofProvider = [...Object.keys(ProviderVariables.properties), ...fileVariables(ProviderVariables)];
  const known = [
    ...Object.keys(Config.properties),
    ...fileVariables(Config),
    ...providers.flatMap((prefix) => ofProvider.map((name) => `${prefix}${name}`)),
  ];
  const isKnown = new Set(known);
  return Object.keys(env)
    .filter((name) => env[name]?.trim() && !isKnown.has(name))
    .flatMap((name) => {
      const intended = closestOf(name, known);
      return intended === undefined ? [] : [{ name, intended }];
    });
}

function closestOf(name: string, known: readonly string[]): string | undefined {
  const written = name.toUpperCase().replaceAll('-', '_');
  let closest: { intended: string; slips: number } | undefined;
  for (const intended of known) {
    const slips = editDistance(written, intended);
    if (slips <= allowedSlips(intended) && (closest === undefined || slips < closest.slips)) {
      closest = { intended, slips };
    }
  }
  return closest?.intended;
}

const allowedSlips = ({ length }: string): number =>
  length < minLengthForOneTypo ? 0 : length < minLengthForTwoTypos ? 1 : 2;

/**
 * The number of letters that are missing, extra, wrong or swapped with their neighbor (optimal string alignment distance).
 * @returns 3 for any number greater than two
 */
function editDistance(one: string, other: string): number {
  const many = 3;
  if (Math.abs(one.length - other.length) >= many) return many;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        (last[column] ?? many) + 1,
        (current[column - 1] ?? many) + 1,
        (last[column - 1] ?? many) + (isSame ? 0 : 1),
        isSwapped ? (beforeLast[column - 2] ?? many) + 1 : many,
      );
    }
    if (Math.min(...current) >= many) return many;
    [beforeLast, last] = [last, current];
  }
  return Math.min(last[other.length] ?? many, many);
}
