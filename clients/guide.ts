import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

const client = createClient<paths>({ baseUrl: process.env.GATEHOUSE_URL ?? 'http://localhost:8055' });

/** Logs in. The requests that follow send the access token. */
export async function logIn(email: string, password: string): Promise<void> {
  const { data, error } = await client.POST('/auth/login', { body: { email, password } });
  if (error) throw new Error(error.errors[0]?.extensions.code);
  if (!('refresh_token' in data.data)) throw new Error('Only the mode json returns both tokens');
  const { access_token } = data.data;
  client.use({
    onRequest: ({ request }) => request.headers.set('authorization', `Bearer ${access_token}`),
  });
}

/** The email addresses of the active users whose address is in a domain. */
export async function addressesIn(domain: string): Promise<(string | null | undefined)[]> {
  const filter: components['schemas']['UserFilter'] = {
    _and: [{ status: { _eq: 'active' } }, { email: { _iends_with: `@${domain}` } }],
  };
  const query = { filter: JSON.stringify(filter), fields: ['email'], sort: ['email'] };
  const { data, error } = await client.GET('/users', { params: { query } });
  if (error) throw new Error(error.errors[0]?.extensions.code);
  return data.data.map(({ email }) => email);
}
