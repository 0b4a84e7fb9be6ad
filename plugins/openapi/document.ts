interface Document {
  paths: Record<string, PathItem>;
  components: { schemas: Record<string, Schema>; headers?: Record<string, Header> };
}

type PathItem = Record<string, Operation>;

interface Operation {
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { headers?: Record<string, object> }>;
}

interface Schema {
  $ref?: string;
  type?: string;
  anyOf?: Schema[];
  required?: string[];
}

interface Header {
  description: string;
  schema: Record<string, unknown>;
}

/** The headers that no route has to name, because they come with every answer of their kind (contract 1). */
const headers: Record<string, Header> = {
  RequestId: {
    description: 'The id under which the request is logged: the one that it came with, or a new one.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' },
  },
  RetryAfter: {
    description: 'Comes with SERVICE_UNAVAILABLE and REQUESTS_EXCEEDED: after how many seconds to try again.',
    schema: { type: 'integer', minimum: 0 },
  },
};

const reference = (name: keyof typeof headers) => ({ $ref: `#/components/headers/${name}` });

/**
 * Adds to the OpenAPI document what holds for all operations alike. The result is a deep copy in which nothing is
 * shared, so that its YAML has no aliases.
 */
export function completeDocument<T extends object>(document: T): T {
  const copy = JSON.parse(JSON.stringify(document)) as T & Document;
  copy.components.headers = headers;
  for (const path of Object.values(copy.paths)) nameSearch(path);
  for (const operation of Object.values(copy.paths).flatMap((path) => Object.values(path))) {
    if (operation.requestBody) operation.requestBody.required = needsBody(operation.requestBody, copy);
    for (const [status, response] of Object.entries(operation.responses)) {
      response.headers = {
        'x-request-id': reference('RequestId'),
        ...(status === '503' || status === '429' ? { 'retry-after': reference('RetryAfter') } : {}),
        ...response.headers,
      };
    }
  }
  return copy;
}

/** OpenAPI 3.1 has no place for operations of the method SEARCH but an extension of its own. */
function nameSearch(path: PathItem): void {
  const { search } = path;
  if (!search) return;
  delete path.search;
  path['x-search'] = search;
}

/** Whether there must be a body: none counts as `{}`, which will do when no field is required. */
function needsBody({ content }: NonNullable<Operation['requestBody']>, { components }: Document): boolean {
  const isRefused = ({ $ref, type, anyOf, required }: Schema): boolean => {
    if ($ref !== undefined) return isRefused(components.schemas[$ref.split('/').at(-1) ?? ''] ?? {});
    return type === 'array' || (anyOf?.every(isRefused) ?? (required ?? []).length > 0);
  };
  return Object.values(content).some(({ schema }) => isRefused(schema));
}
