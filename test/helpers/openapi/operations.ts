import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import { apiDocument, committedDocument, isOfProtocol } from './document.js';

/** The parts of a schema in the document that tests use. */
export interface BodySchema {
  $ref?: string;
  format?: string;
  properties?: Record<string, BodySchema>;
  anyOf?: BodySchema[];
  oneOf?: BodySchema[];
  allOf?: BodySchema[];
}

/** An operation of the OpenAPI document, with a concrete URL. */
export interface Operation {
  operationId: string;
  method: 'GET';
  url: string;
  hasBody: boolean;
  isBodyRequired: boolean;
  /** The fields of its body, if the body can be an object. */
  fields: ReadonlyMap<string, BodySchema>;
}

interface Described {
  operationId: string;
  requestBody?: { required?: boolean; content: Record<string, { schema: BodySchema }> };
}

/** The `config` that the route of an operation declares. */
export const configOf = (app: FastifyInstance, operationId = ''): FastifyContextConfig =>
  app.operations.get(operationId)?.config ?? {};

/**
 * Returns all operations of the JSON API, so that tests automatically cover new ones.
 * @param parameters values for the path parameters
 */
export function allOperations({ id = '00000000-0000-4000-8000-000000000000', provider = 'nobody' } = {}): Operation[] {
  const { paths, components } = apiDocument() as unknown as {
    paths: Record<string, Record<string, Described>>;
    components: { schemas: Record<string, BodySchema> };
  };
  const fieldsOf = ({
    $ref,
    properties = {},
    anyOf = [],
    oneOf = [],
    allOf = [],
  }: BodySchema): [string, BodySchema][] => [
    ...Object.entries(properties),
    ...[...anyOf, ...oneOf, ...allOf].flatMap(fieldsOf),
    ...($ref === undefined ? [] : fieldsOf(components.schemas[$ref.split('/').at(-1) ?? ''] ?? {})),
  ];
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, requestBody }]) => ({
      operationId,
      // The method type of `inject` does not include SEARCH.
      method: method.replace(/^x-/, '').toUpperCase() as 'GET',
      url: path.replace('{provider}', provider).replaceAll(/\{\w+\}/g, id),
      hasBody: requestBody !== undefined,
      isBodyRequired: requestBody?.required === true,
      fields: new Map(fieldsOf(requestBody?.content['application/json']?.schema ?? {})),
    })),
  );
}

/** Returns all endpoints of OpenID Connect. */
export const protocolOperations = (): Pick<Operation, 'operationId' | 'method' | 'url'>[] =>
  Object.entries(committedDocument().paths).flatMap(([url, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      isOfProtocol(operation)
        ? [{ operationId: operation.operationId, method: method.toUpperCase() as 'GET', url }]
        : [],
    ),
  );
