import axios from 'axios';
import { type Administrator, expect, nestedFilter } from './expect.js';
import { getGatehouse, type UserFilter } from './generated/orval-axios/api.js';

/** orval, with its client for axios. */
export async function journey(baseUrl: string, { email, password }: Administrator): Promise<void> {
  axios.defaults.baseURL = baseUrl;
  const client = getGatehouse();

  const session = await client.login({ email, password });
  const tokens = session.data.data;
  if (!('refresh_token' in tokens)) throw new Error('login: no refresh token');
  const { access_token, refresh_token } = tokens;
  const options = { headers: { authorization: `Bearer ${access_token}` } };

  const address = 'orval-axios@example.com';
  const created = await client.createUsers(
    { email: address, password: 'a password that is long enough' },
    undefined,
    options,
  );
  const user = created.data?.data;
  if (!user || Array.isArray(user) || !user.id) throw new Error('create: no user');

  const filter: UserFilter = nestedFilter(address);
  const listed = await client.listUsers(
    { filter: JSON.stringify(filter), fields: ['id', 'email'], sort: ['-email'], meta: ['filter_count'] },
    options,
  );
  expect(listed.data, { data: [{ id: user.id, email: address }], meta: { filter_count: 1 } }, 'list');

  const updated = await client.updateUser(user.id, { title: 'Dr.' }, { fields: ['title'] }, options);
  expect(updated.data, { data: { title: 'Dr.' } }, 'update');
  expect((await client.deleteUser(user.id, options)).status, 204, 'delete');
  const gone: unknown = await client.readUser(user.id, undefined, options).catch((error: unknown) => error);
  expect(axios.isAxiosError(gone) && gone.response?.status, 403, 'read what is gone');

  expect((await client.logout({ refresh_token })).status, 204, 'logout');
}
