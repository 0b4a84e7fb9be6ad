import { randomUUID } from 'node:crypto';
import t from 'tap';
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
