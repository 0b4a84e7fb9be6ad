import type { OpenApiDocument } from '../openapi/document.js';
import { type Draw, drawHostile, drawMutation, drawValid, type Known, type Schema } from './draw.js';

/** A request in the form in which it is sent. */
export interface WireRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  payload?: string;
}

interface Parameter {
  name: string;
  in: 'query' | 'path';
  required?: boolean;
  schema: Schema & { contentSchema?: Schema };
}

interface Operation {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
}

/**
 * Draws requests for the operations of a document. They are valid or have one error in the path, the query, the
 * headers, or the body.
 * @param weightOf how often an operation occurs relative to others, as an integer
 */
export function createRequestDraw(document: OpenApiDocument, weightOf: (operationId: string) => number = () => 1) {
  const operations = Object.entries(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        path,
        method: method.replace(/^x-/, '').toUpperCase(),
        operation: operation as unknown as Operation,
      })),
    )
    .flatMap((one) => Array.from({ length: weightOf(one.operation.operationId) }, () => one));

  /** @param credentials the headers that authenticate the caller */
  return (draw: Draw, known: Known, credentials: Record<string, string>): WireRequest => {
    const { value, pick, chance } = drawValid(draw, document, known);
    const { path, method, operation } = pick(operations);
    const values = new Map<string, unknown>();
    for (const parameter of operation.parameters ?? []) {
      if (!parameter.required && !chance(30)) continue;
      values.set(parameter.name, value(parameter.schema.contentSchema ?? parameter.schema));
    }
    const bodySchema = operation.requestBody?.content['application/json']?.schema;
    let body = bodySchema && (operation.requestBody?.required || chance(70)) ? value(bodySchema) : undefined;

    const wrong = chance(60)
      ? pick(['parameter', 'query', 'body', 'body', 'body', 'text', 'type', 'credentials'])
      : undefined;
    if (wrong === 'parameter' && values.size > 0) {
      const name = pick([...values.keys()]);
      values.set(name, drawMutation(draw, values.get(name)));
    }
    if (wrong === 'body' && body !== undefined) body = drawMutation(draw, body);

    const query: string[] = [];
    let url = path;
    for (const { name, in: place, schema } of operation.parameters ?? []) {
      if (!values.has(name)) continue;
      const given = values.get(name);
      if (place === 'path') {
        const segment = encode(given).slice(0, 3_000);
        // Clients remove these segments from a path and would send a different request.
        url = url.replace(`{${name}}`, /^\.{0,2}$/.test(segment) ? '%20' : segment);
        continue;
      }
      const isJson = schema.contentSchema !== undefined;
      const isRepeated = Array.isArray(given) && !isJson && chance(50);
      for (const one of isRepeated ? given : [given]) query.push(`${name}=${encode(one, isJson)}`);
    }
    if (wrong === 'query') {
      const name = pick([
        'x',
        'filter',
        'fields[]',
        'filter[id][_eq]',
        'access_token',
        'sort',
        'limit',
        '__proto__[x]',
        'deep',
      ]);
      query.push(`${name}=${encode(drawHostile(draw))}`);
    }
    const headers: Record<string, string> = { ...credentials };
    if (wrong === 'credentials') {
      const bad = pick([
        'Bearer x',
        'Bearer ',
        'Basic YTpi',
        `Bearer ${'a.'.repeat(2_000)}`,
        'bearer eyJhbGciOiJub25lIn0.e30.',
      ]);
      Object.assign(
        headers,
        pick([{ authorization: bad }, { cookie: `session_token=${encode(drawHostile(draw)).slice(0, 3_000)}` }]),
      );
    }
    let payload: string | undefined;
    if (body !== undefined) {
      headers['content-type'] = 'application/json';
      payload = JSON.stringify(body) ?? '';
      if (wrong === 'text')
        payload = pick([payload.slice(0, -1), `${payload}]`, `\ufeff${payload}`, '', '{"a":1,"a":2}', 'null', '[']);
    }
    if (wrong === 'type') {
      headers['content-type'] = pick([
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data',
        'application/xml',
        '',
      ]);
      payload ??= 'a=b';
    }
    return {
      method,
      url: query.length > 0 ? `${url}?${query.join('&')}` : url,
      headers,
      ...(payload === undefined ? {} : { payload }),
    };
  };
}

/** Encodes a value for a URL: as JSON, or as texts joined by commas. */
function encode(value: unknown, isJson = false): string {
  const isText =
    !isJson && (typeof value !== 'object' || (Array.isArray(value) && value.every((one) => typeof one !== 'object')));
  const text = isText ? String(value) : JSON.stringify(value);
  return encodeURIComponent(text.toWellFormed?.() ?? text.replaceAll(/\p{Surrogate}/gu, '\ufffd')).slice(0, 30_000);
}

/** Formats the request as a shell command. */
export function curlLine({ method, url, headers, payload }: WireRequest): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  if (payload !== undefined) parts.push(`--data-binary ${quote(payload)}`);
  return ['curl -i -X', method, ...parts, quote(`http://127.0.0.1:8055${url}`)].join(' ');
}
