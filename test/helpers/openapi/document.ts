import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { formats } from '../../../schemas/common.js';
import { protocolTag } from '../../../schemas/oauth.js';
import { type Described, outcomeOf } from '../../../scripts/conformance.js';

/** A response, independent of how the request was sent. */
export interface Answer {
  method: string;
  url: string;
  status: number;
  headers: Readonly<Record<string, unknown>>;
  body: string;
}

interface Operation {
  operationId: string;
  tags?: string[];
  responses: Record<string, Response>;
}

interface Response {
  headers: Record<string, { $ref?: string; required?: boolean; schema: object }>;
  content?: Record<string, { schema: object }>;
}

export interface OpenApiDocument extends Described {
  components: Described['components'] & { headers: Record<string, Response['headers'][string]> };
}

/** The headers that clients rely on. The service must not send one of them undeclared. */
const significantHeaders = [
  'location',
  'retry-after',
  'set-cookie',
  'x-request-id',
  'www-authenticate',
  'clear-site-data',
  'idempotency-replayed',
];

/**
 * Creates a function that validates a response against an OpenAPI document. It returns the operation and the error
 * codes of the response.
 */
export function createDocumentCheck(document: OpenApiDocument) {
  const ajv = new Ajv2020({ strict: false, validateSchema: false });
  for (const [name, validate] of Object.entries(formats)) ajv.addFormat(name, validate);
  // Timestamps are in ISO 8601 with milliseconds and Z.
  ajv.addFormat('date-time', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
  ajv.addSchema(document, 'document');
  const validators = new Map<string, ValidateFunction>();
  const templates = Object.keys(document.paths).map((path) => ({
    path,
    isConcrete: !path.includes('{'),
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));

  /**
   * Returns the validator of the schema at a place in the document. Each schema is compiled only once, including shared
   * schemas.
   */
  const validatorOf = (schema: { $ref?: string }, ...place: string[]): ValidateFunction => {
    const pointer = place.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    const reference = schema.$ref ?? `#/${pointer}`;
    const validator = validators.get(reference) ?? ajv.compile({ $ref: `document${reference}` });
    validators.set(reference, validator);
    return validator;
  };

  return ({
    method,
    url,
    status,
    headers,
    body,
  }: Answer): { operation: string; codes: (string | undefined)[] } | undefined => {
    const path = (url.replace(/^https?:\/\/[^/]*/, '').split(/[?#]/, 1)[0] ?? '').replace(/(.)\/$/, '$1');
    const found = templates.filter(({ pattern }) => pattern.test(path));
    const template = (found.find(({ isConcrete }) => isConcrete) ?? found[0])?.path;
    if (template === undefined) return undefined;
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
    const methods = document.paths[template] as Record<string, Operation> | undefined;
    const key = methods?.[verb] ? verb : `x-${verb}`;
    const operation = methods?.[key];
    if (!operation) return undefined;

    const what = `${method} ${path.slice(0, 200)} returns ${status}`;
    const refuse = (why: string) => {
      throw new Error(`${what}${why}. If openapi.yaml is outdated, run npm run openapi`);
    };
    const declared = operation.responses[status];
    if (!declared) return refuse(', which the document does not declare');
    const place = ['paths', template, key, 'responses', String(status)];

    for (const [name, header] of Object.entries(declared.headers)) {
      const shared = header.$ref?.split('/').at(-1);
      const described = shared === undefined ? header : document.components.headers[shared];
      const value = headers[name];
      if (value === undefined) {
        if (described?.required) refuse(` without the header ${name}`);
        continue;
      }
      const where = shared === undefined ? [...place, 'headers', name] : ['components', 'headers', shared];
      if (!described) continue;
      const validate = validatorOf(described.schema, ...where, 'schema');
      const isNumber = (described.schema as { type?: string }).type === 'integer';
      for (const one of Array.isArray(value) ? value : [value]) {
        if (!validate(isNumber ? Number(one) : one)) refuse(` with the header ${name}: ${one}`);
      }
    }
    const undeclared = significantHeaders.find((name) => headers[name] !== undefined && !declared.headers[name]);
    if (undeclared !== undefined) refuse(` with the header ${undeclared}, which the document does not declare`);

    if (method === 'HEAD') return undefined;
    // An export without items has no lines.
    const isEmptyExport = body === '' && headers['content-type'] === 'application/x-ndjson';
    if (body === '' && !isEmptyExport) {
      if (declared.content) refuse(' without a body');
      if (headers['content-type'] !== undefined) refuse(' with a Content-Type and no body');
      return { operation: operation.operationId, codes: [undefined] };
    }
    const mediaType = String(headers['content-type'] ?? '').split(';', 1)[0] ?? '';
    const content = declared.content?.[mediaType];
    if (!content) return refuse(` as ${mediaType}, which the document does not declare`);
    const value: unknown = /[/+]json$/.test(mediaType) ? JSON.parse(body) : body;
    const codes =
      status >= 400 && mediaType === 'application/json'
        ? errorsIn(value).map(({ extensions }) => extensions.code)
        : [undefined];
    const mustWait = codes.some((code) => code === 'SERVICE_UNAVAILABLE' || code === 'REQUESTS_EXCEEDED');
    if (mustWait && headers['retry-after'] === undefined) refuse(' without the header retry-after');
    const validate = validatorOf(content.schema, ...place, 'content', mediaType, 'schema');
    if (!validate(value)) {
      const faults = (validate.errors ?? [])
        .slice(-4)
        .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
      refuse(` ${codes.join(', ')}, which does not match: ${faults.join('; ')}\n${body.slice(0, 1000)}`);
    }
    return { operation: operation.operationId, codes };
  };
}

/** The errors in a body of the JSON API. Those of OAuth (RFC 6749) have no list. */
const errorsIn = (body: unknown): { extensions: { code: string | undefined } }[] =>
  (body as { errors?: { extensions: { code: string } }[] }).errors ?? [{ extensions: { code: undefined } }];

let document: OpenApiDocument | undefined;
let check: ReturnType<typeof createDocumentCheck> | undefined;

/** The document in the repository, read once per process. */
export const committedDocument = (): OpenApiDocument => {
  document ??= readDocument();
  return document;
};

/** Whether an operation belongs to OpenID Connect, which has its own formats of requests and errors. */
export const isOfProtocol = ({ tags }: Pick<Operation, 'tags'>): boolean => tags?.includes(protocolTag) ?? false;

/** The document without the operations of OpenID Connect: the JSON API. */
export function apiDocument(): OpenApiDocument {
  const { paths, ...others } = committedDocument();
  const ofApi = Object.entries(paths).map(([path, methods]) => [
    path,
    Object.fromEntries(Object.entries(methods).filter(([, operation]) => !isOfProtocol(operation))),
  ]);
  return { ...others, paths: Object.fromEntries(ofApi) };
}

/**
 * Requires that the document in the repository contains these operations. Responses of an operation that it lacks could not be checked.
 * @throws if it lacks one
 */
export function requireDocumented(operations: ReadonlyMap<string, { method: string; url: string }>): void {
  const documented = new Set(
    Object.entries(committedDocument().paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { operationId }]) => `${operationId} (${method.replace(/^x-/, '').toUpperCase()} ${path})`,
      ),
    ),
  );
  const missing = [...operations]
    .map(([id, { method, url }]) => `${id} (${method} ${url.replaceAll(/:(\w+)/g, '{$1}')})`)
    .filter((operation) => !documented.has(operation));
  if (missing.length > 0) throw new Error(`openapi.yaml lacks ${missing.join(', ')}. Run npm run openapi`);
}

/** Parsing the YAML takes as long as some test files do, so the result is kept as JSON, with a hash of the text. */
function readDocument(): OpenApiDocument {
  const text = readFileSync('openapi.yaml', 'utf8');
  const hash = createHash('sha256').update(text).digest('hex');
  const cache = '.tmp/openapi.json';
  const cached = existsSync(cache) ? JSON.parse(readFileSync(cache, 'utf8')) : undefined;
  if (cached?.hash === hash) return cached.document;
  const document: OpenApiDocument = parse(text);
  const draft = `${cache}.${process.pid}`;
  mkdirSync('.tmp', { recursive: true });
  writeFileSync(draft, JSON.stringify({ hash, document }));
  renameSync(draft, cache);
  return document;
}

/**
 * Validates a response against the OpenAPI document in the repository. Throws an error if an operation returns a
 * status, header, media type, code, or field that the document does not declare. Ignores responses that do not belong
 * to an operation. Records each outcome for `scripts/conformance.ts`.
 */
export function checkAnswer(answer: Answer): void {
  check ??= createDocumentCheck(committedDocument());
  const seen = check(answer);
  for (const code of seen?.codes ?? []) note(outcomeOf(seen?.operation ?? '', answer.status, code));
}

const noted = new Set<string>();
const { TEST_OUTCOMES: folder } = process.env;

function note(outcome: string): void {
  if (folder === undefined) return;
  const file = relative('dist', process.env.TEST_FILE ?? process.argv[1] ?? '').replace(/\.js$/, '.ts');
  const line = `${outcome}\t${file}\n`;
  if (noted.has(line)) return;
  noted.add(line);
  appendFileSync(join(folder, `${process.pid}.txt`), line);
}

/** `fetch` that validates each response against the document. */
export const checkedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const method = init?.method ?? (input instanceof Request ? input.method : 'GET');
  const headers: Record<string, unknown> = Object.fromEntries(response.headers);
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) headers['set-cookie'] = cookies;
  const url = input instanceof Request ? input.url : String(input);
  const body = await response.clone().text();
  if (!response.redirected) checkAnswer({ method: method.toUpperCase(), url, status: response.status, headers, body });
  return response;
};
