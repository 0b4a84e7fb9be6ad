import type { Known } from '../fuzz/draw.js';
import type { Service } from '../service/service.js';
import { userPassword } from '../users/credentials.js';
import { asAdministrator } from '../users/over-http.js';
import { everyPermission } from '../users/rights.js';
import type { Caller } from './requests.js';

export interface HostileWorld {
  known: Known;
  callers: Caller[];
}

type Call = Awaited<ReturnType<typeof asAdministrator>>;

let count = 0;

/** Deletes the previous world and creates a caller of every kind over HTTP. */
export async function renewWorld(service: Service): Promise<HostileWorld> {
  const call = await asAdministrator(service);
  const { id: me, role } = await call('PATCH', '/users/me?fields=id,role', { first_name: 'Keeper' });
  const [{ policy }] = (await call('SEARCH', '/roles', {
    query: { filter: { id: { _eq: role } }, fields: ['policies'] },
  }).then((found) => (found as unknown as { policies: string[] }[]).map(({ policies: [policy] }) => ({ policy })))) as [
    { policy: string | undefined },
  ];
  await removeOthers(call, '/users', me);
  await removeOthers(call, '/roles', role);
  await removeOthers(call, '/policies', policy);
  // An administrator of the previous world may have set a password policy that these passwords would violate.
  await call('PATCH', '/settings', { public_registration: true, auth_password_policy: null });

  const number = ++count;
  const idOf = async (path: string, body: object) => String((await call('POST', path, body)).id);
  const newRole = async (values: object, granted: readonly object[]) => {
    const made = await idOf('/policies', { name: `Policy ${number}`, ...values });
    for (const permission of granted) await call('POST', '/permissions', { policy: made, ...permission });
    return idOf('/roles', { name: `Role ${number}`, policies: [made] });
  };
  const own = { id: { _eq: '$CURRENT_USER' } };
  const roles = {
    admin: await newRole({ admin_access: true }, []),
    manager: await newRole({}, everyPermission),
    member: await newRole({ app_access: true }, [
      { collection: 'users', action: 'read', permissions: own, fields: ['id', 'email', 'first_name', 'role'] },
      { collection: 'users', action: 'update', permissions: own, fields: ['first_name', 'title', 'password'] },
    ]),
  };
  const password = userPassword;
  const callers: Caller[] = [{ headers: {}, isAdmin: false }];
  const emails: string[] = [];
  const ids: string[] = Object.values(roles);
  const texts = ['https://app.example/reset', 'https://app.example/invite', '123456', password];
  for (const [name, role] of Object.entries(roles)) {
    const email = `${name}-${number}@example.com`;
    const token = `a-static-token-of-the-hostile-world-${name}-${number}`;
    ids.push(await idOf('/users', { email, password, token, role }));
    emails.push(email);
    callers.push({ headers: { authorization: `Bearer ${token}` }, isAdmin: name === 'admin' });
    const login = await service.post('/auth/login', { email, password, mode: 'session' });
    const [cookie = ''] = (login.headers.get('set-cookie') ?? '').split(';');
    if (name !== 'admin') callers.push({ headers: { cookie }, isAdmin: false });
    const { data } = (await (await service.post('/auth/login', { email, password })).json()) as {
      data: { refresh_token: string };
    };
    texts.push(data.refresh_token);
  }
  for (const status of ['active', 'suspended']) {
    const email = `${status}-${number}@example.com`;
    ids.push(await idOf('/users', { email, password, status }));
    emails.push(email);
  }
  return { known: { ids, emails, texts }, callers };
}

/** Deletes all items except one, a thousand at a time. */
async function removeOthers(call: Call, path: string, kept: unknown): Promise<void> {
  for (;;) {
    const query = { filter: { id: { _neq: kept } }, fields: ['id'], limit: 1000 };
    const found = (await call('SEARCH', path, { query })) as unknown as { id: string }[];
    if (found.length === 0) return;
    await call(
      'DELETE',
      path,
      found.map(({ id }) => id),
    );
  }
}
