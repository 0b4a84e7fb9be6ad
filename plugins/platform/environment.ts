import { readFileSync } from 'node:fs';
import type { TObject } from '@sinclair/typebox';
import { Value, type ValueError } from '@sinclair/typebox/value';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Names of the variables that Kubernetes and Docker add for a service named `email-smtp`: `EMAIL_SMTP_SERVICE_HOST`,
 * `EMAIL_SMTP_SERVICE_PORT_HTTP`, `EMAIL_SMTP_PORT_25_TCP_ADDR`.
 */
const serviceLinkName = /_SERVICE_HOST$|_SERVICE_PORT(_\w+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
/** They also add `EMAIL_SMTP_PORT`, which is a variable of this service, too, but never with such a value. */
const serviceLinkValue = /^(tcp|udp|sctp):\/\//;

/** The variables that an operator has set, without those that the platform adds for other services in the same network. */
export const withoutServiceLinks = (env: Environment): Environment =>
  Object.fromEntries(
    Object.entries(env).filter(
      ([name, value]) =>
        !serviceLinkName.test(name) && !(/(^|_)PORT$/.test(name) && serviceLinkValue.test(value?.trim() ?? '')),
    ),
  );

/** The values from the environment, not yet decoded, and their faults, with one sentence for each variable. */
export interface ReadVariables {
  candidate: Record<string, unknown>;
  faults: string[];
}

/**
 * The variables named `<NAME>_FILE`: each gives the path of a file that contains a secret of the schema. The OpenTelemetry
 * library reads its own variables, and only from the environment.
 */
export const fileVariables = (schema: TObject): string[] =>
  Object.entries(schema.properties)
    .filter(([name, about]) => about.secret && !name.startsWith('OTEL_'))
    .map(([name]) => `${name}_FILE`);

/**
 * Reads the variables of a schema. Secrets can also be in files.
 * @param prefix the prefix of their names in the environment
 * @param presets values for variables that are not set in the environment
 */
export function readVariables(
  schema: TObject,
  env: Environment,
  prefix = '',
  presets: Readonly<Record<string, string>> = {},
): ReadVariables {
  const files = readFiles(schema, env, prefix);
  const given = Object.fromEntries(
    Object.keys(schema.properties)
      .map((name) => [name, env[`${prefix}${name}`]?.trim() || files.contents[name] || presets[name]])
      .filter(([, value]) => value),
  );
  const candidate = typed(schema, given);
  return { candidate, faults: onePerVariable([...files.faults, ...faultsOf(schema, candidate, prefix)]) };
}

/** The first fault of each variable. Others follow from it. */
export const onePerVariable = (faults: readonly string[]): string[] => {
  const firsts = new Map<string, string>();
  for (const fault of faults) {
    const [name = ''] = fault.split(':', 1);
    if (!firsts.has(name)) firsts.set(name, fault);
  }
  return [...firsts.values()];
};

/** Reads the files that contain secrets. The contents are keyed by the name of the variable. */
function readFiles(schema: TObject, env: Environment, prefix: string) {
  const contents: Record<string, string> = {};
  const faults: string[] = [];
  for (const fileVariable of fileVariables(schema)) {
    const file = env[`${prefix}${fileVariable}`]?.trim();
    if (!file) continue;
    const name = fileVariable.replace(/_FILE$/, '');
    const addFault = (fault: string) => faults.push(`${prefix}${name}: ${fault}`);
    if (env[`${prefix}${name}`]?.trim()) {
      addFault(`${prefix}${fileVariable} is also set; set only one of the two`);
      continue;
    }
    try {
      const content = readFileSync(file, 'utf8').trim();
      if (content === '') addFault(`the file in ${prefix}${fileVariable}, ${file}, is empty`);
      contents[name] = content;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      addFault(`the file in ${prefix}${fileVariable}, ${file}, cannot be read (${code})`);
    }
  }
  return { contents, faults };
}

/** Merges the given values with the defaults, and converts strings to numbers and booleans. */
function typed(schema: TObject, given: Record<string, string | undefined>): Record<string, unknown> {
  const converted = Value.Convert(schema, Value.Default(schema, { ...given })) as Record<string, unknown>;
  // `80.9`, `1e3` or `0x1F` would be converted to an unintended number. They remain strings, and validation rejects them.
  const changedByConversion = ([name, text]: [string, string | undefined]) =>
    typeof converted[name] === 'number' && String(converted[name]) !== text;
  return { ...converted, ...Object.fromEntries(Object.entries(given).filter(changedByConversion)) };
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
