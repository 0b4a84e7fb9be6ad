import { type Administrator, expect, nestedFilter } from './expect.js';
import { createClient } from './generated/hey-api/client/index.js';
import {
  createUsers,
  deleteUser,
  listUsers,
  login,
  logout,
  readUser,
  updateUser,
} from './generated/hey-api/sdk.gen.js';
import type { UserFilter } from './generated/hey-api/types.gen.js';

/** @hey-api/openapi-ts, with its client for fetch. */
export async function journey(baseUrl: string, { email, password }: Administrator): Promise<void> {
  let token: string | undefined;
  const client = createClient({
    baseUrl,
    auth: ({ scheme }) => (scheme === 'bearer' ? token : undefined),
  });

  const session = await login({ client, body: { email, password }, throwOnError: true });
  const tokens = session.data.data;
  if (!('refresh_token' in tokens)) throw new Error('login: no refresh token');
  const { access_token, refresh_token } = tokens;
  token = access_token;

  const address = 'hey-api@example.com';
  const created = await createUsers({
    client,
    body: { email: address, password: 'a password that is long enough' },
    throwOnError: true,
  });
  const user = created.data?.data;
  if (!user || Array.isArray(user) || !user.id) throw new Error('create: no user');
  const path = { id: user.id };

  const filter: UserFilter = nestedFilter(address);
  const listed = await listUsers({
    client,
    query: { filter: JSON.stringify(filter), fields: ['id', 'email'], sort: ['-email'], meta: ['filter_count'] },
  });
  expect(listed.data, { data: [{ id: user.id, email: address }], meta: { filter_count: 1 } }, 'list');

  const updated = await updateUser({ client, path, query: { fields: ['title'] }, body: { title: 'Dr.' } });
  expect(updated.data, { data: { title: 'Dr.' } }, 'update');
  expect((await deleteUser({ client, path })).response?.status, 204, 'delete');
  const gone = await readUser({ client, path });
  if (!gone.error) throw new Error('read what is gone: no error');
  expect(gone.error.errors[0]?.extensions.code, 'FORBIDDEN', 'read what is gone');

  expect((await logout({ client, body: { refresh_token } })).response?.status, 204, 'logout');
}
