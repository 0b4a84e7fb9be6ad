import createClient from 'openapi-fetch';
import { type Administrator, expect, nestedFilter } from './expect.js';
import type { components, paths } from './schema.js';

/** openapi-typescript, with openapi-fetch. */
export async function journey(baseUrl: string, { email, password }: Administrator): Promise<void> {
  const client = createClient<paths>({ baseUrl });

  const login = await client.POST('/auth/login', { body: { email, password, mode: 'json' } });
  if (!login.data) throw new Error(`login: ${login.error.errors[0]?.extensions.code}`);
  const tokens = login.data.data;
  if (!('refresh_token' in tokens)) throw new Error('login: no refresh token');
  const { access_token, refresh_token } = tokens;
  client.use({
    onRequest: ({ request }) => {
      request.headers.set('authorization', `Bearer ${access_token}`);
      return request;
    },
  });

  const address = 'openapi-fetch@example.com';
  const created = await client.POST('/users', { body: { email: address, password: 'a password that is long enough' } });
  const user = created.data?.data;
  if (!user || Array.isArray(user) || !user.id) throw new Error('create: no user');
  const path = { id: user.id };

  const filter: components['schemas']['UserFilter'] = nestedFilter(address);
  const listed = await client.GET('/users', {
    params: {
      query: { filter: JSON.stringify(filter), fields: ['id', 'email'], sort: ['-email'], meta: ['filter_count'] },
    },
  });
  expect(listed.data, { data: [{ id: user.id, email: address }], meta: { filter_count: 1 } }, 'list');

  const updated = await client.PATCH('/users/{id}', {
    params: { path, query: { fields: ['title'] } },
    body: { title: 'Dr.' },
  });
  expect(updated.data, { data: { title: 'Dr.' } }, 'update');
  const deleted = await client.DELETE('/users/{id}', { params: { path } });
  expect(deleted.response.status, 204, 'delete');
  const gone = await client.GET('/users/{id}', { params: { path } });
  expect(gone.error?.errors[0]?.extensions.code, 'FORBIDDEN', 'read what is gone');

  const logout = await client.POST('/auth/logout', { body: { refresh_token } });
  expect(logout.response.status, 204, 'logout');
}
