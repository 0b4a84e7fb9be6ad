import type { TObject } from '@sinclair/typebox';
import { Value, type ValueError } from '@sinclair/typebox/value';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The values from the environment, not yet decoded, and their faults, with one sentence for each variable. */
export interface ReadVariables {
  candidate: Record<string, unknown>;
  faults: string[];
}

/**
 * Reads the variables of a schema.
 * @param prefix the prefix of their names in the environment
 * @param presets values for variables that are not set in the environment
 */
export function readVariables(
  schema: TObject,
  env: Environment,
  prefix = '',
  presets: Readonly<Record<string, string>> = {},
): ReadVariables {
  const given = Object.fromEntries(
    Object.keys(schema.properties)
      .map((name) => [name, env[`${prefix}${name}`]?.trim() || presets[name]])
      .filter(([, value]) => value),
  );
  const candidate = typed(schema, given);
  return { candidate, faults: faultsOf(schema, candidate, prefix) };
}

/** Merges the given values with the defaults, and converts texts to numbers and booleans. */
function typed(schema: TObject, given: Record<string, string | undefined>): Record<string, unknown> {
  const converted = Value.Convert(schema, Value.Default(schema, { ...given })) as Record<string, unknown>;
  // `80.9`, `1e3` or `0x1F` would be converted to an unintended number. They remain texts, and validation rejects them.
  const isCutDown = ([name, text]: [string, string | undefined]) =>
    typeof converted[name] === 'number' && String(converted[name]) !== text;
  return { ...converted, ...Object.fromEntries(Object.entries(given).filter(isCutDown)) };
}

function faultsOf(schema: TObject, candidate: unknown, prefix: string): string[] {
  const byName = new Map<string, ValueError>();
  for (const error of Value.Errors(schema, candidate)) {
    const name = error.path.split('/')[1] ?? '';
    if (!byName.has(name)) byName.set(name, error);
  }
  return [...byName].map(([name, error]) => {
    const about = schema.properties[name] as { expected?: string; secret?: boolean };
    const got = about.secret
      ? ''
      : error.value === undefined
        ? ', but it is not set'
        : `, got ${JSON.stringify(error.value)}`;
    return `${prefix}${name}: expected ${about.expected}${got}`;
  });
}
