import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export const conformanceFile = 'docs/conformance.md';

/** The part of an OpenAPI document that describes the possible responses of each operation. */
export interface Described {
  paths: Record<
    string,
    Record<string, { operationId: string; tags?: string[]; responses: Record<string, DescribedResponse> }>
  >;
  components: { schemas: Record<string, Part> };
}

interface DescribedResponse {
  content?: Record<string, { schema: Part }>;
}

interface Part {
  $ref?: string;
  enum?: unknown[];
  anyOf?: Part[];
  items?: Part;
  properties?: Record<string, Part>;
}

/** A possible response of an operation as a text, such as `login 401 INVALID_OTP`; `-` replaces a missing error code. */
export type Outcome = string;

export const outcomeOf = (operation: string, status: number | string, code?: string): Outcome =>
  `${operation} ${status} ${code ?? '-'}`;

/** Every outcome that a document declares, in the document's order. */
export function declaredOutcomes(document: Described): Outcome[] {
  return Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, responses }) =>
      Object.entries(responses).flatMap(([status, { content }]) => {
        const codes = Object.values(content ?? { none: { schema: {} } }).flatMap(({ schema }) =>
          codesIn(schema, document),
        );
        return [...new Set(codes)].map((code) => outcomeOf(operationId, status, code));
      }),
    );
}

/** The error codes of an error body; for any other body, a single undefined entry. */
function codesIn(schema: Part, document: Described): (string | undefined)[] {
  const resolve = (part: Part): Part =>
    part.$ref ? (document.components.schemas[part.$ref.split('/').at(-1) ?? ''] ?? {}) : part;
  const item = resolve(schema).properties?.errors?.items;
  if (!item) return [undefined];
  return (item.anyOf ?? [item]).flatMap((entry) => {
    const code = resolve(entry).properties?.extensions?.properties?.code?.enum?.[0];
    return typeof code === 'string' ? [code] : [];
  });
}

/** The folder where the tests of a suite record the outcomes they have seen: a line for each outcome and test file. */
export const outcomesFolder = (suite: string): string => join('.tmp', 'outcomes', suite);

/** Tests with random input prove nothing, because the next run uses other input. */
const randomTests = /\/(fuzz|http\/hostile)\.test\.ts$/;

/** The test files that have seen each outcome in the last run of a suite. */
export function seenOutcomes(suite: string): Map<Outcome, Set<string>> {
  const seen = new Map<Outcome, Set<string>>();
  const folder = outcomesFolder(suite);
  for (const name of readdirSync(folder)) {
    for (const line of readFileSync(join(folder, name), 'utf8').split('\n')) {
      const [outcome = '', file = ''] = line.split('\t');
      if (outcome !== '' && !randomTests.test(file)) seen.set(outcome, (seen.get(outcome) ?? new Set()).add(file));
    }
  }
  return seen;
}

/** `docs/conformance.md`: each outcome with the test that proves it, the first one by name. */
export function conformanceTable(
  declared: readonly Outcome[],
  seen: ReadonlyMap<Outcome, ReadonlySet<string>>,
): string {
  const rows = declared.map((outcome) => {
    const [operation, status, code] = outcome.split(' ');
    const [proof = 'not proved'] = [...(seen.get(outcome) ?? [])].sort();
    return { operation, line: `| ${operation} | ${status} | ${code === '-' ? '' : code} | ${proof} |` };
  });
  const operations = new Set(rows.map(({ operation }) => operation));
  return [
    '# Conformance',
    '',
    'This table lists every response that `openapi.yaml` declares for each operation, with a test that produces it. The tests validate the',
    'status, headers, and body of every response against the document. A run of the whole suite fails if any of these responses does not occur.',
    'To generate this page, run `npm run test:all`, and then `npm run conformance`.',
    '',
    `${operations.size} operations, ${rows.length} outcomes.`,
    '',
    '| Operation | Status | Code | Test |',
    '| --- | --- | --- | --- |',
    ...rows.map(({ line }) => line),
    '',
  ].join('\n');
}

/** Reads the OpenAPI document of the repository. */
export const readDocument = (): Described => parse(readFileSync('openapi.yaml', 'utf8')) as Described;

/**
 * The lines of `docs/conformance.md` that the last run of a suite has not confirmed, and the outcomes of `openapi.yaml` that it
 * does not list.
 * @param isRun whether the suite runs a test file; the other files prove outcomes on the other engine
 */
export function missingProofs(suite: string, isRun: (file: string) => boolean = () => true): string[] {
  const seen = seenOutcomes(suite);
  const lines = existsSync(conformanceFile) ? readFileSync(conformanceFile, 'utf8').split('\n') : [];
  const claims = new Map(
    lines.flatMap((line) => {
      const [, operation = '', status = '', code = '', file = ''] = line.split('|').map((cell) => cell.trim());
      return /^\d{3}$/.test(status) ? [[outcomeOf(operation, status, code || undefined), { line, file }]] : [];
    }),
  );
  const declared = declaredOutcomes(readDocument());
  const isProved = (outcome: Outcome) => {
    const { file } = claims.get(outcome) ?? {};
    return file !== undefined && (!isRun(file) || (seen.get(outcome)?.has(file) ?? false));
  };
  return [
    ...declared.filter((outcome) => !isProved(outcome)).map((outcome) => claims.get(outcome)?.line ?? outcome),
    ...[...claims].filter(([outcome]) => !declared.includes(outcome)).map(([, { line }]) => line),
  ];
}
