import t from 'tap';
import { patch, refusedUnchanged, startWithAdmin } from '../helpers/http/writing.js';
import { bearer } from '../helpers/service/app.js';
import { createUser, storedUser } from '../helpers/users/users.js';

t.test('a user can store the last visited page, without any permission', async (t) => {
  const service = await startWithAdmin(t);
  const user = await createUser(service.app, { token: 'without-any-permission' });
  const headers = bearer('without-any-permission');
  const track = (payload: object, as: Record<string, string> = headers) =>
    patch(service, '/users/me/track/page', payload, as);

  for (const page of ['/content', 'x', '🙂'.repeat(255)]) {
    const response = await track({ last_page: page });
    t.equal(response.statusCode, 204);
    t.equal(response.body, '');
    t.equal((await storedUser(service.app, user.id)).lastPage, page);
  }
  for (const last_page of [undefined, null, '', 1, true, [], {}, ['/x']]) {
    await refusedUnchanged(t, service, () => track({ last_page }), ['INVALID_PAYLOAD'], `${JSON.stringify(last_page)}`);
  }
  await refusedUnchanged(t, service, () => track([]), ['INVALID_PAYLOAD'], 'a list');
  const value = 'x'.repeat(256);
  const tooLong = { collection: 'users', field: 'last_page', value };
  await refusedUnchanged(t, service, () => track({ last_page: value }), ['VALUE_TOO_LONG', tooLong], 'too long');
  await refusedUnchanged(t, service, () => track({ last_page: '/x' }, {}), ['INVALID_CREDENTIALS'], 'anonymous');
});
