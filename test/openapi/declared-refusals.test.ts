// @suite not-everyday: tries every operation

import t from 'tap';
import { declaredOutcomes, outcomeOf } from '../../scripts/conformance.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { apiDocument } from '../helpers/openapi/document.js';
import { allOperations } from '../helpers/openapi/operations.js';
import { openSession } from '../helpers/users/sessions.js';

/** What every operation refuses in the same way, wherever the document declares it. */

const document = apiDocument();
const declared = new Set(declaredOutcomes(document));
const { app, request, post, get } = await startWithAdmin(t, {
  AUTH_PROVIDERS: 'github',
  AUTH_GITHUB_CLIENT_ID: 'x',
  AUTH_GITHUB_CLIENT_SECRET: 'x',
  AUTH_GITHUB_RESPONSE_MODE: 'form_post',
});
// The operations on the own account require a session.
const admin = await openSession(app, (await get('/users/me?fields=id', asAdmin)).json().data.id);
const { id: policy } = (await post('/policies', { name: 'Readers' }, asAdmin)).json().data;
const granted = { policy, collection: 'users', action: 'read' };
const { id: permission } = (await post('/permissions', granted, asAdmin)).json().data;
const operations = [
  ...allOperations({ provider: 'github' }).filter(({ url }) => !url.startsWith('/permissions/0')),
  ...allOperations({ id: permission }).filter(({ url }) => url === `/permissions/${permission}`),
];

interface Described {
  operationId: string;
  requestBody?: { content: Record<string, { schema: Schema }> };
}
const described = new Map(
  Object.values(document.paths)
    .flatMap((methods) => Object.values(methods) as Described[])
    .map((operation) => [operation.operationId, operation]),
);

/** The example of a request body in the document. */
function exampleBody(operationId: string): object | undefined {
  const body = described.get(operationId)?.requestBody;
  return body && exampleOf(body.content['application/json']?.schema ?? {});
}

interface Schema {
  $ref?: string;
  examples?: object[];
  example?: object;
  anyOf?: Schema[];
  items?: Schema;
}

function exampleOf(schema: Schema): object {
  const { $ref } = schema;
  const found = $ref
    ? ((document.components.schemas as Record<string, Schema>)[$ref.split('/').at(-1) ?? ''] ?? {})
    : schema;
  return (
    found.examples?.[0] ??
    found.example ??
    (found.anyOf?.[0] ? exampleOf(found.anyOf[0]) : found.items ? [exampleOf(found.items)] : {})
  );
}

const wrong = '?dry_run=maybe&meta=lost&fields[x]=y&token[x]=y&state=lost&interval=lost';

t.test('a parameter with an invalid value is refused', async (t) => {
  let count = 0;
  for (const { operationId, method, url } of operations) {
    if (!declared.has(outcomeOf(operationId, 400, 'INVALID_QUERY'))) continue;
    const body = (method as string) === 'SEARCH' ? { query: { meta: 'lost' } } : exampleBody(operationId);
    const response = await request({ method, url: url + wrong, headers: admin, ...(body ? { payload: body } : {}) });
    refused(t, response, 'INVALID_QUERY', operationId);
    count++;
  }
  t.ok(count > 100, `${count} operations`);
});

t.test('a key of another request is refused', async (t) => {
  const headers = { ...admin, 'idempotency-key': 'the key of another request' };
  t.equal((await post('/roles', { name: 'Member' }, headers)).statusCode, 200);
  for (const { operationId, method, url } of operations) {
    if (!JSON.stringify(described.get(operationId)).includes('"Idempotency-Key"')) continue;
    const payload = exampleBody(operationId);
    const response = await request({ method, url, headers, ...(payload ? { payload } : {}) });
    refused(t, response, 'UNPROCESSABLE_CONTENT', operationId);
  }
});
