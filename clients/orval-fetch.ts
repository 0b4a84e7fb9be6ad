import { type Administrator, expect, nestedFilter } from './expect.js';
import {
  createUsers,
  deleteUser,
  listUsers,
  login,
  logout,
  readUser,
  type UserFilter,
  updateUser,
} from './generated/orval-fetch/api.js';

/** orval, with its client for fetch. */
export async function journey(baseUrl: string, { email, password }: Administrator): Promise<void> {
  // The generated URLs are relative to the page, which Node does not have.
  const { fetch } = globalThis;
  globalThis.fetch = (path, init) => fetch(new URL(String(path), baseUrl), init);

  const session = await login({ email, password });
  if (session.status !== 200) throw new Error(`login: ${session.status}`);
  const tokens = session.data.data;
  if (!('refresh_token' in tokens)) throw new Error('login: no refresh token');
  const { access_token, refresh_token } = tokens;
  const options = { headers: { authorization: `Bearer ${access_token}` } };

  const address = 'orval-fetch@example.com';
  const created = await createUsers({ email: address, password: 'a password that is long enough' }, undefined, options);
  const user = created.status === 200 ? created.data.data : undefined;
  if (!user || Array.isArray(user) || !user.id) throw new Error('create: no user');

  const filter: UserFilter = nestedFilter(address);
  const listed = await listUsers(
    { filter: JSON.stringify(filter), fields: ['id', 'email'], sort: ['-email'], meta: ['filter_count'] },
    options,
  );
  expect(listed.data, { data: [{ id: user.id, email: address }], meta: { filter_count: 1 } }, 'list');

  const updated = await updateUser(user.id, { title: 'Dr.' }, { fields: ['title'] }, options);
  expect(updated.data, { data: { title: 'Dr.' } }, 'update');
  expect((await deleteUser(user.id, options)).status, 204, 'delete');
  const gone = await readUser(user.id, undefined, options);
  expect(gone.status === 403 && gone.data.errors[0]?.extensions.code, 'FORBIDDEN', 'read what is gone');

  expect((await logout({ refresh_token })).status, 204, 'logout');
  globalThis.fetch = fetch;
}
