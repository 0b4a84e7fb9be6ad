import { QueryClient } from '@tanstack/react-query';
import axios from 'axios';
import { type Administrator, expect, nestedFilter } from './expect.js';
import {
  createUsers,
  deleteUser,
  getListUsersQueryOptions,
  getReadUserQueryOptions,
  login,
  logout,
  type UserFilter,
  updateUser,
} from './generated/orval-react-query/api.js';

/** orval, with its client for react-query. The hooks of a page use the same functions and options. */
export async function journey(baseUrl: string, { email, password }: Administrator): Promise<void> {
  axios.defaults.baseURL = baseUrl;
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });

  const session = await login({ email, password });
  const tokens = session.data.data;
  if (!('refresh_token' in tokens)) throw new Error('login: no refresh token');
  const { access_token, refresh_token } = tokens;
  const options = { headers: { authorization: `Bearer ${access_token}` } };

  const address = 'orval-react-query@example.com';
  const created = await createUsers({ email: address, password: 'a password that is long enough' }, undefined, options);
  const user = created.data?.data;
  if (!user || Array.isArray(user) || !user.id) throw new Error('create: no user');

  const filter: UserFilter = nestedFilter(address);
  const listed = await client.fetchQuery(
    getListUsersQueryOptions(
      { filter: JSON.stringify(filter), fields: ['id', 'email'], sort: ['-email'], meta: ['filter_count'] },
      { axios: options },
    ),
  );
  expect(listed.data, { data: [{ id: user.id, email: address }], meta: { filter_count: 1 } }, 'list');

  const updated = await updateUser(user.id, { title: 'Dr.' }, { fields: ['title'] }, options);
  expect(updated.data, { data: { title: 'Dr.' } }, 'update');
  expect((await deleteUser(user.id, options)).status, 204, 'delete');
  const reading = client.fetchQuery(getReadUserQueryOptions(user.id, undefined, { axios: options }));
  const gone: unknown = await reading.catch((error: unknown) => error);
  expect(axios.isAxiosError(gone) && gone.response?.status, 403, 'read what is gone');

  expect((await logout({ refresh_token })).status, 204, 'logout');
  client.clear();
}
