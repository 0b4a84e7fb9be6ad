import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { ErrorCode } from '../../schemas/errors.js';
import { sessionCookie, setCookies } from '../helpers/http/cookies.js';
import { refused } from '../helpers/http/refusals.js';
import { asAdmin, startWithAdmin } from '../helpers/http/writing.js';
import { cutDatabase, startTestApp } from '../helpers/service/app.js';
import { createPolicy, policyWith } from '../helpers/users/rights.js';
import { codeOfStep, rfcSecret } from '../helpers/users/totp.js';
import { nextStep, ownSecretPolicy } from '../helpers/users/two-factor.js';
import { createSignedInUser, createUserWithToken } from '../helpers/users/users.js';

/** Documented responses of single operations that no other test covers. */

const service = await startWithAdmin(t);
const { app, get, request } = service;
const patch = (url: string, payload: object, headers = asAdmin) => request({ method: 'PATCH', url, payload, headers });

t.test('an invalid query returns INVALID_QUERY', async (t) => {
  for (const url of ['/users/me?meta=all', '/roles/me?meta=all', '/settings?fields[x]=y', '/mails?state=lost']) {
    refused(t, await get(url, asAdmin), 'INVALID_QUERY', url);
  }
  refused(t, await patch('/settings?fields[x]=y', {}), 'INVALID_QUERY', 'update the settings');
  refused(t, await get('/users/register/verify-email?token=a&token=b'), 'INVALID_QUERY', 'two tokens');
});

t.test('reading and updating the settings returns the documented responses', async (t) => {
  t.equal((await get('/settings', asAdmin)).statusCode, 200);
  t.equal((await patch('/settings', {})).statusCode, 200);
  refused(
    t,
    await patch('/settings', { auth_password_policy: '(' }),
    'FAILED_VALIDATION',
    'an invalid regular expression',
  );
  refused(t, await patch('/settings', { public_policy: randomUUID() }), 'INVALID_FOREIGN_KEY', 'an unknown policy');
  const powerful = await createPolicy(app, { appAccess: true });
  refused(t, await patch('/settings', { public_policy: powerful }), 'UNPROCESSABLE_CONTENT', 'a powerful policy');
  const granted = [{ collection: 'settings', action: 'update' as const, fields: ['project_name'] }];
  const { headers } = await createUserWithToken(app, { policies: [await policyWith(app, granted)] });
  t.equal(
    (await patch('/settings', { project_name: 'Here' }, headers)).statusCode,
    204,
    'no content for a caller without read access',
  );
});

t.test('callers can read their own roles, rights, and identities', async (t) => {
  for (const url of ['/roles/me', '/policies/me/globals', '/permissions/me', '/users/me/identities', '/mails']) {
    t.equal((await get(url, asAdmin)).statusCode, 200, url);
  }
});

t.test('health reports an error if the database is unavailable', async (t) => {
  const { app, get } = await startTestApp(t);
  t.equal((await get('/server/health')).statusCode, 200);
  await cutDatabase({ app });
  // The result of the health check is cached for a second.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const response = await get('/server/health');
  t.equal(response.statusCode, 503);
  t.strictSame(response.json(), { status: 'error' });
});

t.test('a second factor can be set up despite a validation rule, but not from another site', async (t) => {
  const person = await createSignedInUser(service, {
    policies: [await ownSecretPolicy(app, { validation: { tfa_secret: { _null: true } } })],
  });
  const session = setCookies(await person.login(undefined, { mode: 'session' })).gatehouse_session_token;
  const foreign = { ...sessionCookie(session?.value ?? ''), origin: 'https://elsewhere.example' };
  refused(t, await person.generate({ password: person.password }, foreign), 'FORBIDDEN', 'a page on another site');
  t.equal((await person.generate({ password: person.password })).statusCode, 200);
  const otp = codeOfStep(nextStep(service));
  t.equal(
    (await person.enable({ secret: rfcSecret.base32, otp })).statusCode,
    204,
    'validation rules of permissions do not apply',
  );
  t.not((await person.row()).tfaSecret, null);
});

t.test('applications and APIs reject invalid updates of several items, and deletions can be rehearsed', async (t) => {
  const client = { name: 'Shop', type: 'confidential', redirect_uris: ['https://shop.example.com/callback'] };
  for (const [url, item, bad] of [
    [
      '/clients',
      client,
      {
        FAILED_VALIDATION: { redirect_uris: ['no URL'] },
        INVALID_FOREIGN_KEY: { resources: ['https://unknown.example.com'] },
        VALUE_TOO_LONG: { name: 'x'.repeat(101) },
        NOT_NULL_VIOLATION: { name: null },
      },
    ],
    [
      '/resources',
      { identifier: 'https://api.example.com', name: 'API' },
      {
        FAILED_VALIDATION: { identifier: 'no URL' },
        VALUE_TOO_LONG: { name: 'x'.repeat(101) },
        NOT_NULL_VIOLATION: { name: null },
      },
    ],
  ] as const) {
    const created = await service.post(url, item, asAdmin);
    t.equal(created.statusCode, 200, created.body);
    const { id } = created.json().data;
    for (const [code, data] of Object.entries(bad)) {
      refused(t, await patch(url, { keys: [id], data }), code as ErrorCode, `${url} ${code}`);
    }
    const rehearse = (place: string, payload?: object) =>
      request({ method: 'DELETE', url: `${place}?dry_run=true`, headers: asAdmin, ...(payload ? { payload } : {}) });
    for (const response of [await rehearse(url, [id]), await rehearse(`${url}/${id}`)]) {
      t.equal(response.statusCode, 200);
      t.strictSame(response.json(), { data: [id], meta: { dry_run: true } });
    }
    t.equal((await get(`${url}/${id}`, asAdmin)).statusCode, 200, 'it still exists');
  }
});

t.test('administrators can list the grants of a user', async (t) => {
  const { id } = await createUserWithToken(app);
  const response = await get(`/users/${id}/grants`, asAdmin);
  t.equal(response.statusCode, 200);
  t.strictSame(response.json(), { data: [] });
});
