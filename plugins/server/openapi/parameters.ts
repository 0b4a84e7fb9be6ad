import { type Document, type Parameter, resolve } from './types.js';

/**
 * Says how a parameter travels. An object is JSON: OpenAPI knows no style for one with objects in it (`deepObject` is
 * for flat ones), and a client says once how it writes them. A list is repeated, which is what OpenAPI and generated
 * clients do unless they are told otherwise. The server reads brackets and CSV, too.
 */
export function describeParameter(parameter: Parameter, document: Document): void {
  const { schema } = parameter;
  if (!schema) return;
  const { type, anyOf, description, examples } = resolve(schema, document);
  if (description !== undefined) parameter.description ??= description;
  if (type === 'object') {
    delete parameter.schema;
    parameter.content = { 'application/json': { schema } };
    return;
  }
  const list = type === 'array' ? schema : anyOf?.find((part) => part.type === 'array');
  if (!list) {
    if (examples && parameter.example === undefined) parameter.example = examples[0];
    return;
  }
  parameter.schema = { ...list };
  if (typeof parameter.example === 'string') parameter.example = parameter.example.split(',');
}
