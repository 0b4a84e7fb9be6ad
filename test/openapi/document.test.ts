// @suite embedded-only: hardly depends on the engine
// @suite own-process: tests the document of a process that has just started

import { readFileSync } from 'node:fs';
import { compileErrors, parse, validate } from '@readme/openapi-parser';
import t from 'tap';
import { isOfProtocol } from '../helpers/openapi/document.js';
import { configOf } from '../helpers/openapi/operations.js';
import { startTestApp } from '../helpers/service/app.js';

interface Schema {
  $ref?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
}

interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  security?: Record<string, string[]>[];
  parameters?: { name: string; schema: Schema; example?: string }[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { headers: Record<string, unknown>; content?: Record<string, { schema: Schema }> }>;
}

interface Document {
  openapi: string;
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, unknown> };
}

const committed = () => readFileSync('openapi.yaml', 'utf8');

/** Yields every value in a document, with its path. */
function* walk(value: unknown, path = '#'): Generator<[path: string, value: unknown]> {
  yield [path, value];
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    yield* walk(item, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  }
}

t.test('the OpenAPI document', async (t) => {
  const { app, get } = await startTestApp(t);
  const document: Document = (await get('/openapi.json')).json();
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    // OpenAPI 3.1 has no SEARCH method, so the document declares it as an extension.
    Object.entries(methods).map(([method, operation]) => ({
      what: `${method.replace(/^x-/, '').toUpperCase()} ${path}`,
      operation,
    })),
  );
  /** The operations of the JSON API. */
  const operations = all.filter(({ operation }) => !isOfProtocol(operation));
  const resolve = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : (document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});

  t.test('the committed openapi.yaml matches the service (to update it: npm run openapi)', async (t) => {
    t.equal(committed(), app.swagger({ yaml: true }));
  });

  t.test('the document is served as JSON and as YAML', async (t) => {
    const json = await get('/openapi.json');
    t.equal(json.headers['content-type'], 'application/json; charset=utf-8');
    const yaml = await get('/openapi.yaml');
    t.equal(yaml.headers['content-type'], 'application/yaml; charset=utf-8');
    t.equal(yaml.body, committed());
    t.strictSame(await parse('openapi.yaml'), json.json(), 'both have the same content');
    t.notMatch(yaml.body, /[:-] [&*]\w+$/m, 'no aliases in the YAML, because not every tool supports them');
  });

  t.test('the document is valid OpenAPI 3.1', async (t) => {
    t.equal(document.openapi, '3.1.0');
    const result = await validate(structuredClone(document) as unknown as Parameters<typeof validate>[0]);
    t.ok(result.valid, result.valid ? 'valid' : compileErrors(result));
    for (const [path, value] of walk(document)) {
      if (typeof value !== 'object' || value === null) continue;
      t.notOk('nullable' in value, `${path}: OpenAPI 3.1 has no nullable`);
    }
  });

  t.test('every reference resolves, and every component is used', async (t) => {
    const places = new Set([...walk(document)].map(([path]) => path));
    const references = [...walk(document)].filter(([path]) => path.endsWith('/$ref')).map(([, value]) => String(value));
    for (const reference of references) t.ok(places.has(reference), reference);
    const used = new Set(references);
    for (const name of Object.keys(document.components.schemas)) {
      t.ok(used.has(`#/components/schemas/${name}`), `${name} is used`);
    }
  });

  t.test('each operation has an operation id, a summary, a tag, its security, and its responses', async (t) => {
    const names = all.map(({ operation }) => operation.operationId);
    t.equal(new Set(names).size, names.length, 'operation ids are unique');
    for (const { what, operation } of all) {
      t.match(operation.operationId, /^[a-z][A-Za-z]+$/, what);
      t.match(operation.summary, /^[A-Z].{5,}[^.]$/, what);
      t.equal(operation.tags?.length, 1, what);
      t.ok(
        document.tags.some(({ name }) => name === operation.tags?.[0]),
        `${what}: the tag is declared`,
      );
      t.ok(Array.isArray(operation.security), `${what} declares which credentials it accepts`);
      for (const scheme of (operation.security ?? []).flatMap((way) => Object.keys(way))) {
        t.ok(scheme in document.components.securitySchemes, `${what}: ${scheme} is declared`);
      }
    }
    for (const { what, operation } of operations) {
      const { access, needs } = configOf(app, operation.operationId);
      const isForAnyone =
        operation.security?.length === 0 || operation.security?.some((way) => Object.keys(way).length === 0);
      // A new installation has no public permissions.
      const isOpen = access === 'anonymous' || (access === 'permission' && needs === 'nothing');
      t.equal(isForAnyone, isOpen, `${what} declares whether credentials are optional`);
      t.equal(
        operation.description?.includes('only if the public policy grants the permission') ?? false,
        access === 'permission' && typeof needs === 'object',
        `${what} says whether the public policy can open it`,
      );
      const statuses = Object.keys(operation.responses);
      t.ok(
        statuses.some((status) => /^[23]/.test(status)),
        `${what} declares a success response`,
      );
      for (const status of ['400', '401', '403', '500', '503']) t.ok(statuses.includes(status), `${what} ${status}`);
    }
  });

  t.test('the endpoints of OpenID Connect declare forms, and the errors of RFC 6749', async (t) => {
    const endpoints = all.filter(({ operation }) => isOfProtocol(operation));
    t.equal(endpoints.length, 14);
    for (const { what, operation } of endpoints) {
      const isPost = what.startsWith('POST');
      t.strictSame(
        Object.keys(operation.requestBody?.content ?? {}),
        isPost ? ['application/x-www-form-urlencoded'] : [],
        what,
      );
      const hasRequired = /token$|introspect$|revoke$|POST .*authorize$/.test(what);
      t.equal(operation.requestBody?.required ?? false, hasRequired, `${what}: whether its body has a required field`);
      const statuses = Object.keys(operation.responses);
      t.ok(
        statuses.some((status) => /^[23]/.test(status)),
        `${what} declares a success response`,
      );
      // The other one only redirects.
      const needsDatabase = what !== 'POST /oauth/authorize';
      for (const status of ['400', '429', ...(needsDatabase ? ['500', '503'] : [])])
        t.ok(statuses.includes(status), `${what} ${status}`);
      for (const [status, { headers, content }] of Object.entries(operation.responses)) {
        t.ok(headers['x-request-id'], `${what} ${status} x-request-id`);
        t.equal('retry-after' in headers, ['429', '503'].includes(status), `${what} ${status} retry-after`);
        const challenges = ['401', '403', ...(what.endsWith('userinfo') ? ['400'] : [])];
        t.equal('www-authenticate' in headers, challenges.includes(status), `${what} ${status} www-authenticate`);
        if (status < '400' || (status === '400' && what === 'GET /oauth/authorize')) continue;
        const { properties, additionalProperties } = resolve(content?.['application/json']?.schema ?? {});
        t.strictSame(Object.keys(properties ?? {}), ['error', 'error_description', 'scope'], `${what} ${status}`);
        t.equal(additionalProperties, false, `${what} ${status}: closed`);
        t.ok(properties?.error?.enum?.length, `${what} ${status}: a closed list of codes`);
      }
    }
  });

  t.test('a body is required exactly when it has a required field', async (t) => {
    const required = operations.flatMap(({ what, operation }) => (operation.requestBody?.required ? [what] : []));
    // Those of OpenID Connect are tested above.
    const collections = ['clients', 'permissions', 'policies', 'resources', 'roles', 'users'].flatMap((name) =>
      ['DELETE', 'PATCH', 'POST'].map((method) => `${method} /${name}`),
    );
    const others = [
      'PATCH /users/me/track/page',
      'POST /auth/login/{provider}',
      'POST /auth/login',
      'POST /auth/password/request',
      'POST /auth/password/reset',
      'POST /users/invite',
      'POST /users/invite/accept',
      'POST /auth/password/check',
      'POST /users/register',
      'POST /users/register/resend',
      'POST /users/register/verify-email',
      'POST /users/me/tfa/enable',
      'POST /users/me/tfa/disable',
      'POST /users/me/email',
      'POST /users/me/email/cancel',
      'POST /users/me/email/confirm',
      'POST /users/me/password',
      'POST /auth/passkey',
      'POST /auth/passkey/check',
      'POST /users/me/passkeys',
      'POST /permissions/explain',
      'PATCH /users/me/passkeys/{id}',
    ];
    t.strictSame(required.sort(), [...collections, ...others].sort());
    for (const { what, operation } of operations) {
      const method = what.split(' ', 1)[0] ?? '';
      if (method === 'GET') t.notOk(operation.requestBody, `${what} has no body`);
      const isCommand = [
        ...['POST /mails/{id}/retry', 'POST /users/{id}/tfa/disable', 'POST /users/{id}/unlock'],
        ...['POST /auth/passkey/options', 'POST /users/me/passkeys/options', 'POST /clients/{id}/secret'],
      ].includes(what);
      if (['PATCH', 'POST', 'SEARCH'].includes(method) && !isCommand) t.ok(operation.requestBody, `${what} has a body`);
    }
  });

  t.test('objects in a query are text that contains JSON, which every generated client sends correctly', async (t) => {
    const parameters = operations.flatMap(({ operation }) => operation.parameters ?? []);
    const objects = parameters.filter(({ name }) => ['filter', 'aggregate'].includes(name));
    t.equal(objects.length, 14);
    for (const { schema, example = '' } of objects) {
      t.match(schema, { type: 'string', contentMediaType: 'application/json', contentSchema: { $ref: /^#/ } });
      t.type(JSON.parse(example), 'object');
    }
    t.notOk(parameters.some((parameter) => 'content' in parameter));
  });

  t.test('the method SEARCH, which OpenAPI does not support, is shown with the method GET', async (t) => {
    const searched = Object.entries(document.paths).filter(([, methods]) => 'x-search' in methods);
    t.equal(searched.length, 7);
    for (const [path, { get }] of searched) {
      t.match(get?.description, `SEARCH ${path}\n`);
      const [, body = ''] = get?.description?.match(/json\n\n(.*)\n```/s) ?? [];
      t.type(JSON.parse(body).query.filter, 'object');
    }
  });

  t.test('no field of a request body has a default, because generated clients would require it', async (t) => {
    const seen = new Set<string>();
    const defaultsIn = (value: unknown, place: string): string[] =>
      [...walk(value)].flatMap(([path, part]) => {
        if (path.endsWith('/default')) return [`${place}${path.slice(1)}`];
        const name = path.endsWith('/$ref') ? String(part).split('/').at(-1) : undefined;
        if (name === undefined || seen.has(name)) return [];
        seen.add(name);
        return defaultsIn(document.components.schemas[name], name);
      });
    t.strictSame(
      operations.flatMap(({ what, operation }) => defaultsIn(operation.requestBody, what)),
      [],
    );
    t.ok(seen.has('LoginBody'));
  });

  t.test('each error status declares a closed list of its codes', async (t) => {
    for (const { what, operation } of operations) {
      for (const [status, { content }] of Object.entries(operation.responses)) {
        if (Number(status) < 400) continue;
        const schema = resolve(content?.['application/json']?.schema ?? {});
        t.equal(schema?.additionalProperties, false, `${what} ${status}: closed`);
        const item = schema?.properties?.errors?.items ?? {};
        const entries = (item.anyOf ?? [item]).map(resolve);
        const codes = entries.map(({ properties }) => properties?.extensions?.properties?.code?.enum);
        t.ok(codes.length > 0);
        for (const [index, code] of codes.entries()) {
          t.equal(code?.length, 1, `${what} ${status}: one code per entry`);
          t.match(code?.[0], /^[A-Z_]+$/);
          t.equal(entries[index]?.additionalProperties, false);
          t.equal(entries[index]?.properties?.extensions?.additionalProperties, false);
        }
      }
    }
    const codesOf = (what: string, status: string) =>
      JSON.stringify(document.paths[what]?.post?.responses[status]).match(/[A-Z]+_[A-Z_]+/g);
    t.ok(codesOf('/auth/login', '401')?.includes('INVALID_OTP'));
    t.notOk(codesOf('/auth/refresh', '401')?.includes('INVALID_OTP'), 'a code is listed only where it can occur');
  });

  t.test('all response headers are declared', async (t) => {
    for (const { what, operation } of operations) {
      for (const [status, { headers }] of Object.entries(operation.responses)) {
        t.ok(headers['x-request-id'], `${what} ${status} x-request-id`);
        t.equal('retry-after' in headers, ['429', '503'].includes(status), `${what} ${status} retry-after`);
        const isList = /^(list|search)(Users|Roles|Policies|Permissions|Activities|Clients|Resources)$/.test(
          operation.operationId ?? '',
        );
        t.equal('link' in headers, isList && status === '200', `${what} ${status} link`);
      }
    }
    const setting = operations.filter(({ operation }) =>
      // Every public operation clears an invalid session cookie, with a shared header definition.
      Object.entries(operation.responses).some(
        ([status, { headers }]) =>
          status < '400' && headers['set-cookie'] && !('$ref' in Object(headers['set-cookie'])),
      ),
    );
    const withProviders = ['start', 'finish', 'submit'].flatMap((step) => [
      `${step}OAuthLogin`,
      `${step}ProviderLogin`,
    ]);
    t.strictSame(
      setting.map(({ operation }) => operation.operationId).sort(),
      [
        'login',
        'logout',
        'refresh',
        'requestEmailLogin',
        'loginWithEmail',
        'loginWithPasskey',
        'serverHealth',
        'completeProviderLogin',
        'deleteMe',
        'endMySession',
        'linkIdentity',
        'register',
        'confirmEmail',
        ...withProviders,
      ].sort(),
    );
  });

  t.test('an update accepts every field that can be changed', async (t) => {
    for (const [one, many] of [
      ['User', 'Users'],
      ['Role', 'Roles'],
      ['Policy', 'Policies'],
      ['Permission', 'Permissions'],
    ] as const) {
      const path = `/${many.toLowerCase()}/{id}`;
      const body = resolve(document.paths[path]?.patch?.requestBody?.content['application/json']?.schema ?? {});
      const created = Object.keys(document.components.schemas[`New${one}`]?.properties ?? {});
      t.ok(created.length > 1, one);
      t.strictSame(
        Object.keys(body.properties ?? {})
          .filter((name) => name !== 'current_password')
          .sort(),
        created.filter((name) => name !== 'id').sort(),
        one,
      );
    }
  });

  t.test('no response schema allows the password or undeclared fields', async (t) => {
    const user = document.components.schemas.User;
    t.equal(user?.additionalProperties, false);
    t.notOk('password' in (user?.properties ?? {}));
    t.strictSame(Object.keys(user?.properties ?? {}).length, 32);
  });
});

t.test('the documentation page', async (t) => {
  const { get } = await startTestApp(t);

  t.test('the page is HTML, and loads everything from the service', async (t) => {
    const page = await get('/docs');
    t.equal(page.statusCode, 200);
    t.match(page.headers['content-type'], 'text/html');
    const links = [...page.body.matchAll(/\b(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? '');
    t.ok(links.length >= 3);
    for (const link of links) {
      if (link === 'data:,') continue;
      t.notMatch(link, /^([a-z]+:)?\/\//i, `${link} is on the service`);
      const target = new URL(link, 'http://gatehouse.example/docs/');
      const { statusCode, body, headers } = await get(target.pathname);
      t.equal(statusCode, 200, link);
      t.ok(headers['x-request-id']);
      if (link.endsWith('.css')) {
        for (const [, source] of body.matchAll(/(?:url\(|@import\s+)["']?([^"')\s]+)/g)) {
          t.match(source, /^(data:|#)/, `${link} loads nothing else`);
        }
      }
    }
  });

  t.test('the content security policy allows only the service as a source', async (t) => {
    const policy = String((await get('/docs')).headers['content-security-policy']);
    const directives = Object.fromEntries(
      policy
        .split(';')
        .map((part) => part.trim().split(/\s+/))
        .map(([name = '', ...sources]) => [name, sources]),
    );
    t.strictSame(directives['default-src'], ["'self'"]);
    for (const [name, sources] of Object.entries(directives)) {
      for (const source of sources) {
        t.match(source, /^('self'|'none'|data:|'nonce-.+'|'unsafe-inline')$/, `${name} ${source}`);
      }
    }
    t.notOk('upgrade-insecure-requests' in directives, 'the page works over plain HTTP, too');
    t.strictSame(directives['script-src'], ["'self'"], 'no inline scripts');
  });
});
