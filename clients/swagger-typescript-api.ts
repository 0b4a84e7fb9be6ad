import { type Administrator, expect, nestedFilter } from './expect.js';
import { Api, type UserFilter } from './generated/swagger-typescript-api/api.js';

/** swagger-typescript-api, with its client for fetch. */
export async function journey(baseUrl: string, { email, password }: Administrator): Promise<void> {
  const client = new Api<string>({
    baseUrl,
    securityWorker: (token) => (token === null ? {} : { headers: { authorization: `Bearer ${token}` } }),
  });

  const { data: session } = await client.auth.login({ email, password });
  const tokens = session.data;
  if (!('refresh_token' in tokens)) throw new Error('login: no refresh token');
  const { access_token, refresh_token } = tokens;
  client.setSecurityData(access_token);

  const address = 'swagger-typescript-api@example.com';
  const created = await client.users.createUsers({ email: address, password: 'a password that is long enough' });
  const user = created.data?.data;
  if (!user || Array.isArray(user) || !user.id) throw new Error('create: no user');

  const filter: UserFilter = nestedFilter(address);
  const listed = await client.users.listUsers({
    filter: JSON.stringify(filter),
    fields: ['id', 'email'],
    sort: ['-email'],
    meta: ['filter_count'],
  });
  expect(listed.data, { data: [{ id: user.id, email: address }], meta: { filter_count: 1 } }, 'list');

  const updated = await client.users.updateUser(user.id, { fields: ['title'] }, { title: 'Dr.' });
  expect(updated.data, { data: { title: 'Dr.' } }, 'update');
  expect((await client.users.deleteUser(user.id)).status, 204, 'delete');
  const gone = await client.users.readUser(user.id).catch((response: unknown) => response);
  expect(gone instanceof Response && gone.status, 403, 'read what is gone');

  expect((await client.auth.logout({ refresh_token })).status, 204, 'logout');
}
