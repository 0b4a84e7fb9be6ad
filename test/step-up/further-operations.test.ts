import t from 'tap';
import { userPolicies } from '../../db/schema.js';
import { refused } from '../helpers/http/refusals.js';
import { bearer, startTestApp } from '../helpers/service/app.js';
import { createPolicy } from '../helpers/users/rights.js';
import { logIn, makeStale } from '../helpers/users/sessions.js';
import { createUser } from '../helpers/users/users.js';

t.test('a rejected password is reported, and a new address requires a fresh session', async (t) => {
  const service = await startTestApp(t);
  const account = await createUser(service.app);
  const { headers } = await logIn(service, 'json', account);
  refused(t, await service.post('/users/me/password', { password: 'short' }, headers), 'FAILED_VALIDATION', 'short');
  await makeStale(service.app, account.id);
  const response = await service.post('/users/me/email', { email: 'new@example.com' }, headers);
  refused(t, response, 'REAUTHENTICATION_REQUIRED', 'stale');
});

t.test('a bulk update that grants administrator access to policies requires a fresh session', async (t) => {
  const service = await startTestApp(t);
  const { app, request } = service;
  const account = await createUser(app);
  const administration = await createPolicy(app, { adminAccess: true });
  const policy = await createPolicy(app);
  const member = await createUser(app);
  await app.db.insert(userPolicies).values([
    { user: account.id, policy: administration },
    { user: member.id, policy },
  ]);
  const { accessToken } = await logIn(service, 'json', account);
  await makeStale(app, account.id);
  const payload = { keys: [policy], data: { admin_access: true } };
  const update = () => request({ method: 'PATCH', url: '/policies', headers: bearer(accessToken), payload });
  refused(t, await update(), 'REAUTHENTICATION_REQUIRED', 'stale');
});
