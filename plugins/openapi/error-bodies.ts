import { type Document, type DocumentedOperation, nameOf, referenceTo, resolve, type Schema } from './types.js';

/** With more codes, the name would be longer than the schema that it replaces. */
const maxCodes = 3;

/**
 * Names the schemas of error bodies after their codes: `InvalidCredentialsOrTokenExpiredErrors`. Operations with the same errors
 * share a schema, and a name changes only if its content changes.
 */
export function nameErrors({ responses }: DocumentedOperation, document: Document): void {
  for (const [status, { content = {} }] of Object.entries(responses)) {
    if (Number(status) < 400) continue;
    for (const media of Object.values(content)) {
      const names = errorsIn(media.schema).map((entry) => nameOf(entry) ?? '');
      if (names.length === 0) continue;
      const [first = ''] = names;
      const [example] = resolve(referenceTo(first), document).examples ?? [];
      const body = { ...media.schema, examples: [{ errors: [example] }] };
      media.schema = names.length > maxCodes ? body : component(names, body, document);
    }
  }
}

function component(names: string[], body: Schema, { components }: Document): Schema {
  const sorted = names.map((name) => name.replace(/Error$/, '')).sort();
  const name = `${sorted.join('Or')}Errors`;
  components.schemas[name] ??= body;
  return referenceTo(name);
}

/** The schemas that the list in an error body can contain. */
function errorsIn({ properties }: Schema): Schema[] {
  const item = properties?.errors?.items;
  return item ? (item.anyOf ?? [item]) : [];
}
