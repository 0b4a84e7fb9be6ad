import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export const conformanceFile = 'docs/conformance.md';

/** As much of an OpenAPI document as tells what each operation can answer. */
export interface Described {
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, DescribedResponse> }>>;
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

/** What an operation can answer, in one word: `login 401 INVALID_OTP`; `-` in place of a code where there is none. */
export type Outcome = string;

export const outcomeOf = (operation: string, status: number | string, code?: string): Outcome =>
  `${operation} ${status} ${code ?? '-'}`;

/** Every outcome that a document declares, in its order. */
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

/** The codes of an error body; of any other body, one that is undefined. */
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

/** Where the tests of a suite note what they have seen: a line for each outcome and test file. */
export const outcomesFolder = (suite: string): string => join('.tmp', 'outcomes', suite);

/** What is drawn at random proves nothing: the next run draws something else. */
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

/** `docs/conformance.md`: each outcome, and the first of the tests, by name, that prove it. */
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
    'What `openapi.yaml` says that each operation can answer, and a test that makes it answer so. Every answer that a test',
    'receives is held against the document: status, headers and body; and a run of the whole suite in which one of these',
    'lines is not proved fails. Written by `npm run conformance`, after `npm test`.',
    '',
    `${operations.size} operations, ${rows.length} outcomes.`,
    '',
    '| Operation | Status | Code | Test |',
    '| --- | --- | --- | --- |',
    ...rows.map(({ line }) => line),
    '',
  ].join('\n');
}

/** What a document in the repository declares. */
export const readDocument = (): Described => parse(readFileSync('openapi.yaml', 'utf8')) as Described;

/**
 * The lines of `docs/conformance.md` that the last run of a suite has not borne out, and the outcomes of `openapi.yaml` that
 * it has no line for.
 */
export function missingProofs(suite: string): string[] {
  const seen = seenOutcomes(suite);
  const lines = existsSync(conformanceFile) ? readFileSync(conformanceFile, 'utf8').split('\n') : [];
  const claims = new Map(
    lines.flatMap((line) => {
      const [, operation = '', status = '', code = '', file = ''] = line.split('|').map((cell) => cell.trim());
      return /^\d{3}$/.test(status) ? [[outcomeOf(operation, status, code || undefined), { line, file }]] : [];
    }),
  );
  const declared = declaredOutcomes(readDocument());
  const isProved = (outcome: Outcome) => seen.get(outcome)?.has(claims.get(outcome)?.file ?? '') ?? false;
  return [
    ...declared.filter((outcome) => !isProved(outcome)).map((outcome) => claims.get(outcome)?.line ?? outcome),
    ...[...claims].filter(([outcome]) => !declared.includes(outcome)).map(([, { line }]) => line),
  ];
}
