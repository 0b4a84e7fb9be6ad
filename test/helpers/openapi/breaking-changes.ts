/** The parts of an OpenAPI document that are compared here. */
export interface Released {
  paths: Record<string, Record<string, ReleasedOperation>>;
  components: { schemas: Record<string, Part> };
}

interface ReleasedOperation {
  operationId: string;
  parameters?: { name: string; in: string; required?: boolean; schema?: Part }[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Part }> };
  responses: Record<string, { content?: Record<string, { schema: Part }> }>;
}

export interface Part {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  anyOf?: Part[];
  items?: Part;
  properties?: Record<string, Part>;
  required?: string[];
}

/** A change that can break a client, and the name under which the changelog must announce it. */
export interface BreakingChange {
  name: string;
  what: string;
}

/**
 * Finds changes that could break clients of an earlier document: removed operations, success responses, or response
 * fields; newly required request fields; and values or types that requests may no longer use.
 */
export function breakingChanges(before: Released, after: Released): BreakingChange[] {
  const breaks: BreakingChange[] = [];
  const now = new Map(operationsOf(after).map((operation) => [operation.operationId, operation]));

  for (const old of operationsOf(before)) {
    const name = old.operationId;
    const operation = now.get(name);
    if (!operation || operation.place !== old.place) {
      breaks.push({ name, what: operation ? `has moved from ${old.place} to ${operation.place}` : 'was removed' });
      continue;
    }
    for (const { name: parameter, required } of operation.parameters ?? []) {
      const known = old.parameters?.find((one) => one.name === parameter);
      if (required && !known?.required) breaks.push({ name, what: `now requires the parameter ${parameter}` });
    }
    for (const { name: parameter } of old.parameters ?? []) {
      const isKept = operation.parameters?.some((one) => one.name === parameter);
      if (!isKept) breaks.push({ name, what: `no longer has the parameter ${parameter}` });
    }
    if (operation.requestBody?.required && !old.requestBody?.required)
      breaks.push({ name, what: 'now requires a body' });
    for (const [status, response] of Object.entries(old.responses)) {
      if (status >= '400') continue;
      const { content } = operation.responses[status] ?? {};
      if (!operation.responses[status]) breaks.push({ name, what: `no longer returns ${status}` });
      for (const mediaType of Object.keys(response.content ?? {})) {
        if (operation.responses[status] && !content?.[mediaType])
          breaks.push({ name, what: `no longer returns ${status} as ${mediaType}` });
      }
    }
  }

  const [asked, answered] = [componentsIn(before, 'requests'), componentsIn(before, 'responses')];
  for (const [name, old] of Object.entries(before.components.schemas)) {
    const schema = after.components.schemas[name];
    if (!schema) {
      breaks.push({ name, what: 'was removed' });
      continue;
    }
    for (const field of Object.keys(old.properties ?? {})) {
      if (!schema.properties?.[field]) breaks.push({ name, what: `no longer has ${field}` });
    }
    if (answered.has(name)) {
      const lost = (old.required ?? []).filter((field) => !schema.required?.includes(field));
      for (const field of lost) breaks.push({ name, what: `may now omit ${field}` });
    }
    if (asked.has(name)) {
      const added = (schema.required ?? []).filter((field) => !old.required?.includes(field));
      for (const field of added) breaks.push({ name, what: `now requires ${field}` });
      for (const what of narrowed(old, schema)) breaks.push({ name, what });
    }
  }
  return breaks;
}

function operationsOf({ paths }: Released) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, place: `${method} ${path}` })),
  );
}

/** The components used by requests, or by responses. */
function componentsIn(document: Released, side: 'requests' | 'responses'): Set<string> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { $ref } = value as Part;
    const name = typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined;
    if (name !== undefined && !found.has(name)) {
      found.add(name);
      visit(document.components.schemas[name]);
    }
    for (const part of Object.values(value)) visit(part);
  };
  for (const { parameters, requestBody, responses } of operationsOf(document)) {
    visit(side === 'requests' ? { parameters, requestBody } : responses);
  }
  return found;
}

/** Describes where a schema or one of its fields accepts fewer values than before. */
function* narrowed(old: Part, now: Part, place = 'it'): Generator<string> {
  const [before, after] = [typesOf(old), typesOf(now)];
  const fewer = before.filter((type) => !after.includes(type));
  if (after.length > 0 && fewer.length > 0) yield `${place} no longer accepts ${fewer.join(', ')}`;
  const values = old.enum?.filter((value) => now.enum && !now.enum.includes(value)) ?? [];
  if (values.length > 0) yield `${place} no longer accepts ${values.join(', ')}`;
  if (!old.enum && now.enum) yield `${place} now accepts only fixed values`;
  for (const [name, part] of Object.entries(old.properties ?? {})) {
    const field = now.properties?.[name];
    if (field) yield* narrowed(part, field, name);
  }
}

const typesOf = ({ type, anyOf }: Part): string[] =>
  [type ?? []].flat().concat((anyOf ?? []).flatMap((part) => [part.type ?? []].flat()));
