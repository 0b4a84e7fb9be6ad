import t from 'tap';
import { codeOf, startTestApp } from '../helpers/service/app.js';

const token = { authorization: 'Bearer the-static-token-of-the-administrator' };

t.test('the last administrator cannot be locked out', async (t) => {
  const { request, get, post } = await startTestApp(t, { ADMIN_TOKEN: 'the-static-token-of-the-administrator' });
  const patch = (url: string, payload: object) => request({ method: 'PATCH', url, payload, headers: token });
  const [policy] = (await get('/policies?fields=id', token)).json().data;
  const [role] = (await get('/roles?fields=id', token)).json().data;

  t.test('the administrator’s policy cannot be restricted to IP addresses', async (t) => {
    for (const ranges of [['10.0.0.0/8'], []]) {
      t.equal(codeOf(await patch(`/policies/${policy.id}`, { ip_access: ranges })), 'UNPROCESSABLE_CONTENT');
    }
    t.equal((await get('/users', token)).statusCode, 200);
  });

  t.test('an administrator who cannot log in does not replace the last one', async (t) => {
    const ghost = await post('/users', { email: 'ghost@example.com', role: role.id }, token);
    t.equal(ghost.statusCode, 200);
    t.equal(codeOf(await patch('/users/me', { role: null })), 'UNPROCESSABLE_CONTENT');
  });

  t.test('the public policy cannot grant admin access', async (t) => {
    const refused = await patch('/settings', { public_policy: policy.id });
    t.match(refused.json().errors[0].extensions, { code: 'UNPROCESSABLE_CONTENT', reason: /public_policy/ });
    const later = (await post('/policies', { name: 'Later' }, token)).json().data.id;
    t.equal((await patch('/settings', { public_policy: later })).statusCode, 200);
    t.equal(codeOf(await patch(`/policies/${later}`, { admin_access: true })), 'UNPROCESSABLE_CONTENT');
    t.equal((await get('/users')).statusCode, 403);
    t.equal((await post('/users', { email: 'x@example.com' })).statusCode, 403);
  });
});
