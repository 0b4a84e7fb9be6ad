import type { FastifyInstance } from 'fastify';

/** As much of an OpenAPI document as the checks below need. */
interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Described> }>>;
  components: { schemas: Record<string, Schema> };
}

interface Described {
  content?: Record<string, { schema: Schema }>;
}

interface Schema {
  $ref?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
}

/** An answer, however it was got. */
export interface Answer {
  method: string;
  url: string;
  status: number;
  mediaType: string;
  body: string;
}

/**
 * Makes a check that holds answers against the OpenAPI document: an operation's status, media type or error code that
 * the document does not declare is thrown as an error. What is no operation is left alone.
 */
export function documentCheck(app: FastifyInstance): (answer: Answer) => void {
  const document = app.swagger() as unknown as Document;

  return ({ method, url, status, mediaType, body }) => {
    const path = (url.split('?', 1)[0] ?? '').replace(/(.)\/$/, '$1');
    const operations = findPath(document, path);
    const operation = operations?.[method.toLowerCase()] ?? operations?.[`x-${method.toLowerCase()}`];
    if (!operation) return;
    const what = `${method} ${path} answers ${status}`;
    const declared = operation.responses[status];
    if (!declared) throw new Error(`${what}, which the document does not declare`);
    if (body === '') return;
    const schema = declared.content?.[mediaType]?.schema;
    if (!schema) throw new Error(`${what} as ${mediaType}, which the document does not declare`);
    if (status < 400 || mediaType !== 'application/json') return;
    const codes = codesOf(schema, document);
    for (const { extensions } of JSON.parse(body).errors) {
      if (!codes.includes(extensions.code))
        throw new Error(`${what} ${extensions.code}, which the document does not declare`);
    }
  };
}

function findPath(document: Document, path: string) {
  const parts = path.split('/');
  const match = Object.keys(document.paths).find((template) => {
    const names = template.split('/');
    return names.length === parts.length && names.every((name, index) => name.startsWith('{') || name === parts[index]);
  });
  return match === undefined ? undefined : document.paths[match];
}

/** The error codes that an error body may carry. */
function codesOf(schema: Schema, document: Document): unknown[] {
  const resolve = (part: Schema): Schema =>
    part.$ref ? (document.components.schemas[part.$ref.split('/').at(-1) ?? ''] ?? {}) : part;
  const item = schema.properties?.errors?.items ?? {};
  // What is a constant in the schemas is an enum of one in the document.
  return (item.anyOf ?? [item]).flatMap((entry) => resolve(entry).properties?.extensions?.properties?.code?.enum ?? []);
}
