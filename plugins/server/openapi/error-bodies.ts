import { type Document, nameOf, type Operation, referenceTo, resolve, type Schema } from './types.js';

/** Of more codes than these a name would be longer than what it stands for. */
const mostCodes = 3;

/**
 * Gives the bodies of errors names that tell their codes: `InvalidCredentialsOrTokenExpiredErrors`. Operations that can
 * fail in the same ways share them, and no name changes unless what it stands for does.
 */
export function nameErrors({ responses }: Operation, document: Document): void {
  for (const [status, { content = {} }] of Object.entries(responses)) {
    if (Number(status) < 400) continue;
    for (const media of Object.values(content)) {
      const names = errorsIn(media.schema).map((entry) => nameOf(entry) ?? '');
      if (names.length === 0) continue;
      const [first = ''] = names;
      const [example] = resolve(referenceTo(first), document).examples ?? [];
      const body = { ...media.schema, examples: [{ errors: [example] }] };
      media.schema = names.length > mostCodes ? body : component(names, body, document);
    }
  }
}

function component(names: string[], body: Schema, { components }: Document): Schema {
  const sorted = names.map((name) => name.replace(/Error$/, '')).sort();
  const name = `${sorted.join('Or')}Errors`;
  components.schemas[name] ??= body;
  return referenceTo(name);
}

/** What can stand in the list of an error body. */
function errorsIn({ properties }: Schema): Schema[] {
  const item = properties?.errors?.items;
  return item ? (item.anyOf ?? [item]) : [];
}
