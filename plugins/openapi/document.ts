import { protocolTag } from '../../schemas/oauth.js';
import { nameErrors } from './error-bodies.js';
import { describeParameter } from './parameters.js';
import {
  type Document,
  type DocumentedOperation,
  type Header,
  nameOf,
  objectsIn,
  type PathItem,
  type Response,
  resolve,
  type Schema,
} from './types.js';

/** Headers that routes do not declare themselves, because they apply to every response of a kind. */
const headers = {
  RequestId: {
    description: 'The ID under which the request is logged: either the ID that a trusted proxy sent or a new one.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$', examples: ['5e2f0c1a-8d47-4b0e-9c39-2f6a1d7b8e90'] },
  },
  RetryAfter: {
    description: 'The number of seconds to wait before you try again.',
    required: true,
    schema: { type: 'integer', minimum: 0, examples: [1] },
  },
  RetryAfterIfUnavailable: {
    description: 'The number of seconds to wait before you try again. Sent only with `SERVICE_UNAVAILABLE`.',
    schema: { type: 'integer', minimum: 0, examples: [1] },
  },
  IdempotencyReplayed: {
    description:
      'Sent if this is the stored response to an earlier request with the same `Idempotency-Key`. The request had no effect.',
    schema: { type: 'string', enum: ['true'] },
  },
  DeadCookie: {
    description: 'Clears the session cookie if it is invalid, or the cookies of a provider login that failed.',
    schema: { type: 'string', examples: ['gatehouse_session_token=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax'] },
  },
} satisfies Record<string, Header>;

/** The statuses of those errors that are stored as the result of a request with an `Idempotency-Key`. */
const resultErrors: ReadonlySet<string> = new Set(['400', '422']);

const reference = (name: keyof typeof headers) => ({ $ref: `#/components/headers/${name}` });

/**
 * Adds to the OpenAPI document what applies to all operations. The result is a deep copy without shared objects, so that its YAML
 * has no aliases.
 */
export function completeDocument<T extends object>(document: T): T {
  const copy = JSON.parse(JSON.stringify(document)) as T & Document;
  copy.components.headers = headers;
  for (const schema of objectsIn(copy)) mergeConstants(schema);
  for (const [url, path] of Object.entries(copy.paths)) moveSearchToExtension(url, path, copy);
  for (const operation of Object.values(copy.paths).flatMap((path) => Object.values(path))) {
    for (const parameter of operation.parameters ?? []) describeParameter(parameter, copy);
    if (operation.requestBody) operation.requestBody.required = needsBody(operation.requestBody, copy);
    nameErrors(operation, copy);
    addHeaders(operation);
  }
  dropUnused(copy);
  return JSON.parse(JSON.stringify(copy)) as T;
}

function addHeaders({ responses, security = [], tags, parameters = [] }: DocumentedOperation): void {
  const isRepeatable = parameters.some(({ name }) => name === 'Idempotency-Key');
  // A failed provider login always clears its cookies.
  const isFlow = responses['302']?.headers?.['set-cookie'] !== undefined;
  // The endpoints for applications declare their own cookies.
  const isOfProtocol = tags?.includes(protocolTag) ?? false;
  // Operations without credentials accept requests with an invalid cookie, and clear it.
  const isPublic = !isOfProtocol && !security.some((way) => 'bearer' in way);
  for (const [status, response] of Object.entries(responses)) {
    const { location } = response.headers ?? {};
    if (location && 'schema' in location) location.required = true;
    response.headers = {
      'x-request-id': reference('RequestId'),
      ...(status === '503' || status === '429' ? { 'retry-after': reference(retryAfterOf(response)) } : {}),
      ...(isPublic || (!isOfProtocol && (status === '401' || status === '403')) || (isFlow && status >= '400')
        ? { 'set-cookie': reference('DeadCookie') }
        : {}),
      ...(isRepeatable && (status.startsWith('2') || resultErrors.has(status))
        ? { 'idempotency-replayed': reference('IdempotencyReplayed') }
        : {}),
      ...response.headers,
    };
  }
}

/** Responses about health or about a misconfigured provider have no retry-after, because waiting a few seconds does not help. */
function retryAfterOf({ content = {} }: Response): keyof typeof headers {
  const isAlone = Object.keys(content).length === 1 && !/InvalidProviderConfig/.test(JSON.stringify(content));
  return isAlone ? 'RetryAfter' : 'RetryAfterIfUnavailable';
}

/** Merges schemas that each contain one constant into a single enum, which client generators handle best. */
function mergeConstants(schema: Schema): void {
  const constants = schema.anyOf?.filter((part) => part.enum && part.type === 'string') ?? [];
  if (constants.length < 2) return;
  const { description: _description, ...merged } = {
    ...constants[0],
    enum: constants.flatMap((part) => part.enum ?? []),
  };
  const others = schema.anyOf?.filter((part) => !constants.includes(part)) ?? [];
  if (others.length > 0) schema.anyOf = [merged, ...others];
  else {
    delete schema.anyOf;
    Object.assign(schema, merged);
  }
}

/**
 * OpenAPI 3.1 does not support the method SEARCH, so these operations go into an extension. API reference pages do not show
 * extensions, so the description of the same operation with GET shows how to use it.
 */
function moveSearchToExtension(url: string, path: PathItem, document: Document): void {
  const { search, get } = path;
  if (!search) return;
  delete path.search;
  path['x-search'] = search;
  const [schema] = Object.values(search.requestBody?.content ?? {}).map((media) => resolve(media.schema, document));
  if (!get) return;
  get.description = [
    ...(get.description ? [get.description] : []),
    `If the query is too long for a URL, send it as JSON in the body of a \`SEARCH\` request instead:`,
    `\`\`\`http\nSEARCH ${url}\nContent-Type: application/json\n\n${JSON.stringify(schema?.examples?.[0], null, 2)}\n\`\`\``,
  ].join('\n\n');
}

/** Whether a body is required. A missing body is treated as `{}`, which is valid if no field is required. */
function needsBody({ content }: NonNullable<DocumentedOperation['requestBody']>, document: Document): boolean {
  const isRefused = (schema: Schema): boolean => {
    const { type, anyOf, required } = resolve(schema, document);
    return type === 'array' || (anyOf?.every(isRefused) ?? (required ?? []).length > 0);
  };
  return Object.values(content).some(({ schema }) => isRefused(schema));
}

/** Removes unused components, such as errors that no operation returns. */
function dropUnused(document: Document): void {
  const { schemas } = document.components;
  const used = new Set<string>();
  const visit = (value: unknown) => {
    for (const schema of objectsIn(value)) {
      const name = nameOf(schema);
      if (name === undefined || used.has(name)) continue;
      used.add(name);
      visit(schemas[name]);
    }
  };
  visit(document.paths);
  document.components.schemas = Object.fromEntries(
    Object.entries(schemas)
      .filter(([name]) => used.has(name))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}
