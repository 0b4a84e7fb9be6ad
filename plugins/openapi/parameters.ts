import { type Document, type Parameter, resolve } from './types.js';

/**
 * Describes how clients must encode a query parameter. Objects are text that contains JSON, because OpenAPI has no style for nested
 * objects (`deepObject` covers only flat ones), and because generated clients do not serialize parameters that have a media type
 * (`content`). Lists are repeated parameters, the default of OpenAPI and of generated clients. The server also accepts brackets and CSV.
 */
export function describeParameter(parameter: Parameter, document: Document): void {
  const { schema } = parameter;
  if (!schema) return;
  const { type, anyOf, description, examples } = resolve(schema, document);
  if (description !== undefined) parameter.description ??= description;
  if (type === 'object') {
    parameter.schema = { type: 'string', contentMediaType: 'application/json', contentSchema: schema };
    if (examples) parameter.example = JSON.stringify(examples[0]);
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
