import { checkedFetch } from '../openapi/document.js';
import type { Service } from '../service/service.js';
import { cheapHashing } from '../service/variables.js';
import { administrator, userPassword } from './credentials.js';

/** The environment of a service in its own process on which `administrator` can log in. */
export const variables = { ...cheapHashing, ADMIN_PASSWORD: administrator.password };

/** Returns a function that calls the API of a running service as its administrator. */
export async function asAdministrator(service: Pick<Service, 'url' | 'post'>) {
  const login = await service.post('/auth/login', administrator);
  const { data } = (await login.json()) as { data: { access_token: string } };
  return async (method: string, path: string, body: object): Promise<Record<string, unknown>> => {
    const response = await checkedFetch(`${service.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${data.access_token}` },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    const text = await response.text();
    return text === '' ? {} : (JSON.parse(text) as { data: Record<string, unknown> }).data;
  };
}

export interface User {
  email: string;
  password: string;
}

let users = 0;

/** Creates a user who can read their own account and change some fields of it. */
export async function createUserOverHttp(
  service: Pick<Service, 'url' | 'post'>,
  { canChange = [], enforceTfa = false }: { canChange?: string[]; enforceTfa?: boolean } = {},
): Promise<User> {
  const call = await asAdministrator(service);
  const email = `user-${++users}@example.com`;
  const password = userPassword;
  const { id } = await call('POST', '/policies', { name: 'Self-service', app_access: true, enforce_tfa: enforceTfa });
  if (canChange.length > 0) {
    const own = { policy: id, collection: 'users', permissions: { id: { _eq: '$CURRENT_USER' } } };
    await call('POST', '/permissions', { ...own, action: 'update', fields: canChange });
  }
  const role = await call('POST', '/roles', { name: 'Self-service', policies: [id] });
  await call('POST', '/users', { email, password, role: role.id });
  return { email, password };
}
