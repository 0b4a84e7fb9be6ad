import { randomUUID } from 'node:crypto';
import t from 'tap';
import { cutDatabase, startTestApp } from '../helpers/app.js';
import { sessionCookie, setCookies } from '../helpers/cookies.js';
import { createPolicy } from '../helpers/records.js';
import { refused } from '../helpers/refusals.js';
import { policyWith, tokenHolder } from '../helpers/rights.js';
import { codeOfStep, rfcSecret } from '../helpers/totp.js';
import { newPerson, nextStep, ownSecretPolicy } from '../helpers/two-factor.js';
import { asAdmin, startWithAdmin } from '../helpers/writing.js';

/** What the document says that single operations can answer, and what no test of their own is about. */

const service = await startWithAdmin(t);
const { app, get, request } = service;
const patch = (url: string, payload: object, headers = asAdmin) => request({ method: 'PATCH', url, payload, headers });

t.test('queries that cannot be understood', async (t) => {
  for (const url of ['/users/me?meta=all', '/roles/me?meta=all', '/settings?fields[x]=y', '/mails?state=lost']) {
    refused(t, await get(url, asAdmin), 'INVALID_QUERY', url);
  }
  refused(t, await patch('/settings?fields[x]=y', {}), 'INVALID_QUERY', 'update the settings');
  refused(t, await get('/users/register/verify-email?token=a&token=b'), 'INVALID_QUERY', 'two tokens');
});

t.test('settings', async (t) => {
  t.equal((await get('/settings', asAdmin)).statusCode, 200);
  t.equal((await patch('/settings', {})).statusCode, 200);
  refused(t, await patch('/settings', { auth_password_policy: '(' }), 'FAILED_VALIDATION', 'no regular expression');
  refused(t, await patch('/settings', { public_policy: randomUUID() }), 'INVALID_FOREIGN_KEY', 'an unknown policy');
  const powerful = await createPolicy(app, { appAccess: true });
  refused(t, await patch('/settings', { public_policy: powerful }), 'UNPROCESSABLE_CONTENT', 'a powerful policy');
  const granted = [{ collection: 'settings', action: 'update' as const, fields: ['project_name'] }];
  const { headers } = await tokenHolder(app, { policies: [await policyWith(app, granted)] });
  t.equal((await patch('/settings', { project_name: 'Here' }, headers)).statusCode, 204, 'who may not read them');
});

t.test('what callers are told of themselves', async (t) => {
  for (const url of ['/roles/me', '/policies/me/globals', '/permissions/me', '/users/me/identities', '/mails']) {
    t.equal((await get(url, asAdmin)).statusCode, 200, url);
  }
});

t.test('health, with and without a database', async (t) => {
  const { app, get } = await startTestApp(t);
  t.equal((await get('/server/health')).statusCode, 200);
  await cutDatabase({ app });
  // It is asked once a second.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const response = await get('/server/health');
  t.equal(response.statusCode, 503);
  t.strictSame(response.json(), { status: 'error' });
});

t.test('setting up a second factor', async (t) => {
  const person = await newPerson(service, {
    policies: [await ownSecretPolicy(app, { validation: { tfa_secret: { _null: true } } })],
  });
  const session = setCookies(await person.login(undefined, { mode: 'session' })).gatehouse_session_token;
  const foreign = { ...sessionCookie(session?.value ?? ''), origin: 'https://elsewhere.example' };
  refused(t, await person.generate({ password: person.password }, foreign), 'FORBIDDEN', 'a page of somebody else');
  t.equal((await person.generate({ password: person.password })).statusCode, 200);
  const otp = codeOfStep(nextStep(service));
  t.equal((await person.enable({ secret: rfcSecret.base32, otp })).statusCode, 204, 'no rule of a permission applies');
  t.not((await person.row()).tfaSecret, null);
});
