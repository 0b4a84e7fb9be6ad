/** The parts of an OpenAPI document that this folder uses. */
export interface Document {
  paths: Record<string, PathItem>;
  components: { schemas: Record<string, Schema>; headers?: Record<string, Header> };
}

export type PathItem = Record<string, DocumentedOperation>;

export interface DocumentedOperation {
  operationId: string;
  tags?: string[];
  description?: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, MediaType> };
  responses: Record<string, Response>;
  security?: Record<string, unknown>[];
}

export interface Parameter {
  name: string;
  in: string;
  description?: string;
  example?: unknown;
  schema?: Schema;
}

export interface Response {
  headers?: Record<string, { $ref: string } | Header>;
  content?: Record<string, MediaType>;
}

export interface MediaType {
  schema: Schema;
}

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  examples?: unknown[];
  contentMediaType?: string;
  contentSchema?: Schema;
}

export interface Header {
  description?: string;
  required?: boolean;
  schema: Schema & Record<string, unknown>;
}

const prefix = '#/components/schemas/';

export const referenceTo = (name: string): Schema => ({ $ref: `${prefix}${name}` });

/** The name of the component that a schema refers to. */
export const nameOf = ({ $ref }: Schema): string | undefined =>
  $ref?.startsWith(prefix) ? $ref.slice(prefix.length) : undefined;

/** The schema itself or, for a reference, the component. */
export function resolve(schema: Schema, { components }: Pick<Document, 'components'>): Schema {
  const name = nameOf(schema);
  return name === undefined ? schema : (components.schemas[name] ?? {});
}

/** Yields every object in a value, outer objects first. A generator for each level would take several times as long. */
export function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (!Array.isArray(next)) yield next as Record<string, unknown>;
    left.push(...Object.values(next).reverse());
  }
}
