import t from 'tap';
import { settings } from '../../db/schema.js';
import { userStatuses } from '../../schemas/users.js';
import { countStatements } from '../helpers/database/statements.js';
import { refused } from '../helpers/http/refusals.js';
import { allOperations, configOf } from '../helpers/openapi/operations.js';
import { startTestApp } from '../helpers/service/app.js';
import { assertUnchanged, createPolicy, createRole } from '../helpers/users/rights.js';
import { createUser, createUserWithToken } from '../helpers/users/users.js';

/** No operation that accepts an email address reveals to an anonymous caller whether it belongs to a user. */

const service = await startTestApp(t, { REGISTRATION_ANSWER_TIME: '1ms' });
const { app, request } = service;
await app.db.update(settings).set({ publicRegistration: true, emailLogin: true });

let strangers = 0;
const newEmail = () => `stranger-${++strangers}@example.com`;

/** One address of each kind. */
const addresses = new Map([
  ['nobody', newEmail()],
  ...(await Promise.all(
    userStatuses.map(async (status) => [status, (await createUser(app, { status })).email] as const),
  )),
  ['in upper case', (await createUser(app)).email.toUpperCase()],
  ['of another provider', (await createUser(app, { provider: 'github', externalIdentifier: 'x' })).email],
  ['without a password', (await createUser(app, { password: null })).email],
  ['with a second factor', (await createUser(app, { tfa: true })).email],
]);

const taking = allOperations().filter(({ fields }) => fields.has('email'));

t.test('no response reveals whether a user exists (CVE-2024-39896, CVE-2024-41952, CVE-2026-23511)', async (t) => {
  const anonymous = taking.filter(({ operationId }) => configOf(app, operationId).access === 'anonymous');
  t.strictSame(anonymous.map(({ operationId }) => operationId).sort(), [
    'checkPassword',
    'login',
    'loginWithEmail',
    'register',
    'requestEmailLogin',
    'requestPasswordReset',
    'resendVerification',
  ]);
  for (const { operationId, method, url, fields } of anonymous) {
    const told = new Map<string, unknown>();
    for (const [whose, email] of addresses) {
      const payload = {
        email,
        ...(fields.has('password') ? { password: 'a password that is not theirs' } : {}),
        ...(fields.has('code') ? { code: 'nobody’s' } : {}),
      };
      const { statusCode, body, headers } = await request({ method, url, payload } as Parameters<typeof request>[0]);
      const { 'x-request-id': _id, date: _date, 'set-cookie': cookie, ...others } = headers;
      // Its value is random.
      const attributes = String(cookie).replace(/=[\w-]{43};/, '=…;');
      told.set(whose, { statusCode, body, others, attributes });
    }
    for (const [whose, answer] of told) t.strictSame(answer, told.get('nobody'), `${operationId}: ${whose}`);
  }
});

t.test('a URL that is not on the allow list is rejected before any user is looked up (CVE-2026-26185)', async (t) => {
  const administrator = await createUserWithToken(app, { policies: [await createPolicy(app, { adminAccess: true })] });
  const role = await createRole(app);
  const leading = taking.filter(({ fields }) => [...fields.keys()].some((name) => name.endsWith('_url')));
  t.equal(leading.length, 3);
  for (const { operationId, method, url, fields } of leading) {
    const { access } = configOf(app, operationId);
    const name = [...fields.keys()].find((field) => field.endsWith('_url')) ?? '';
    const others = {
      ...(fields.has('password') ? { password: 'x'.repeat(12) } : {}),
      ...(fields.has('role') ? { role } : {}),
    };
    const headers = access === 'anonymous' ? {} : administrator.headers;
    const bodies = new Map<string, string>();
    const costs = new Map<string, number>();
    for (const [whose, email] of addresses) {
      const payload = { email, ...others, [name]: 'https://elsewhere.example/' };
      const send = () => request({ method, url, payload, headers } as Parameters<typeof request>[0]);
      await assertUnchanged(t, app, `${operationId}: ${whose}`, async () => {
        const response = await send();
        refused(t, response, 'INVALID_PAYLOAD', `${operationId}: ${whose}`);
        bodies.set(whose, response.body);
      });
      const counts: number[] = [];
      for (let times = 0; times < 3; times++) {
        const count = countStatements(app);
        await send();
        counts.push(count());
      }
      // Another task may query the database during a request, but not during every one.
      costs.set(whose, Math.min(...counts));
    }
    t.equal(new Set(bodies.values()).size, 1, `${operationId}: the same error for every address`);
    const authentications = access === 'anonymous' ? 0 : 1;
    t.strictSame(
      new Set(costs.values()),
      new Set([authentications]),
      `${operationId}: queries the database only to authenticate the caller`,
    );
  }
});
