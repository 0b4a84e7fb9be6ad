// @suite own-process: keeps the processors busy
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { engine } from '../helpers/database/databases.js';
import { startCluster, withoutPrograms } from '../helpers/database/postgres-cluster.js';
import { freePort } from '../helpers/servers/ports.js';
import { startProxy } from '../helpers/servers/proxy.js';
import { bearer } from '../helpers/service/app.js';
import { createHome, type Service, startQuietService } from '../helpers/service/service.js';
import { administrator } from '../helpers/users/credentials.js';

/** The number of revocations. `npm run test:soak` repeats the test. */
const count = Number(process.env.REVOCATIONS ?? 36);
const password = 'the password of the administrator';
/** Clients of each instance that send requests continuously. */
const clientsPerInstance = 2;

/** A request whose response depends on a right. While the right is changing, `isAllowed` is undefined, and either response is correct. */
interface Probe {
  path: string;
  headers: Record<string, string>;
  isAllowed: boolean | undefined;
  /** How often the right has changed. */
  changes: number;
}

/** One kind of revocation. */
interface Kind {
  name: string;
  probe: Probe;
  revoke(): Promise<unknown>;
  /** Allows the request again. */
  restore(): Promise<unknown>;
}

const variables = { ADMIN_EMAIL: administrator.email, ADMIN_PASSWORD: password };

t.test('no request that begins after a revocation is still allowed', async (t) => {
  const home = await createHome(t, { prepared: true });
  const first = await startQuietService(home, variables);
  const services = engine === 'postgres' ? [first, await startQuietService(home, variables)] : [first];
  const { checked } = await revokeUnderLoad(t, services, { failures: 'none' });
  t.ok(checked > 4 * count, `${checked} responses were checked`);
});

const skip = (engine === 'embedded' && 'PostgreSQL only') || withoutPrograms;

t.test(
  'the same is true while the database stalls, fails over, or is cut off from one instance',
  { skip },
  async (t) => {
    const primary = await startCluster(t);
    const port = await freePort();
    const ports = [port, primary.port];
    const proxies = await Promise.all(ports.map((port) => startProxy(t, { host: '127.0.0.1', port })));
    const databaseUrl = (ports: readonly number[]) =>
      `postgres://postgres@${ports.map((port) => `127.0.0.1:${port}`)}/postgres?target_session_attrs=read-write`;
    const home = await createHome(t, { databaseUrl: databaseUrl(ports) });
    const first = await startQuietService(home, variables);
    const DATABASE_URL = databaseUrl(proxies.map(({ port }) => port));
    const second = await startQuietService(home, { ...variables, DATABASE_URL });
    const standby = await primary.startSynchronousStandby(t, port);
    const half = Math.floor(count / 2);

    /** Every ten revocations, one of three outages begins. */
    const onProgress = async (done: number) => {
      if (done === half) {
        await primary.kill();
        await standby.promote();
      } else if (done % 30 === 5) {
        const server = done < half ? primary : standby;
        server.freeze();
        setTimeout(() => server.resume(), 500);
      } else if (done % 30 === 15) {
        for (const proxy of proxies) proxy.freeze();
        setTimeout(() => proxies.map((proxy) => proxy.restore()), 2_000);
      } else if (done % 30 === 25) {
        for (const proxy of proxies) await proxy.cut();
        setTimeout(() => proxies.map((proxy) => proxy.restore()), 2_000);
      }
    };
    const { checked, unavailable } = await revokeUnderLoad(t, [first, second], { failures: 'outages', onProgress });
    t.ok(checked > 2 * count, `${checked} responses were checked`);
    t.ok(unavailable > 0, `${unavailable} requests failed during the outages`);
  },
);

/**
 * Revokes rights one after the other while clients of all services send requests that depend on these rights, and
 * fails if a response is based on a revoked right.
 * @param options.failures with `outages`, requests may return 503, and failed changes are repeated
 * @param options.onProgress called before each revocation with the number of earlier ones
 */
async function revokeUnderLoad(
  t: Test,
  services: readonly Service[],
  { failures, onProgress }: { failures: 'none' | 'outages'; onProgress?: (done: number) => Promise<void> },
) {
  const kinds = await createKinds(services[0] as Service);
  let stale = 0;
  let checked = 0;
  let unavailable = 0;
  const ask = async (service: Service, probe: Probe) => {
    const { path, headers, isAllowed: expected, changes } = probe;
    const response = await service.get(path, headers);
    const body = (await response.json()) as { data?: { email?: string } };
    if (response.status === 503 && failures === 'outages') unavailable++;
    else if (expected !== undefined && probe.changes === changes) {
      checked++;
      if ((body.data?.email !== undefined) !== expected) {
        stale++;
        t.comment(`${path} returned ${response.status} ${JSON.stringify(body)}, although isAllowed is ${expected}`);
      }
    }
  };
  const change = async (probe: Probe, isAllowed: boolean, work: () => Promise<unknown>) => {
    probe.isAllowed = undefined;
    probe.changes++;
    await (failures === 'outages' ? repeatUntilDone(work) : work());
    probe.isAllowed = isAllowed;
    await Promise.all(services.map((service) => ask(service, probe)));
  };

  let isOver = false;
  const client = async (service: Service, offset: number) => {
    for (let turn = offset; !isOver; turn++) await ask(service, (kinds[turn % kinds.length] as Kind).probe);
  };
  const clients = services.flatMap((service) =>
    Array.from({ length: clientsPerInstance }, (_, offset) => client(service, offset)),
  );
  // One after the other: while other rights change, no instance keeps any rights in memory.
  for (let done = 0; done < count; done++) {
    await onProgress?.(done);
    const { probe, revoke, restore } = kinds[done % kinds.length] as Kind;
    await change(probe, false, revoke);
    await change(probe, true, restore);
  }
  isOver = true;
  await Promise.all(clients);
  t.equal(stale, 0);
  t.comment(`${count} revocations, ${checked} responses checked, ${unavailable} unavailable`);
  return { checked, unavailable };
}

/** Repeats a change whose outcome is unknown. */
async function repeatUntilDone(work: () => Promise<unknown>): Promise<void> {
  for (const end = performance.now() + 60_000; ; await sleep(200)) {
    try {
      await work();
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}

/** Creates the users, the rights that they have, and the functions that revoke these rights. */
async function createKinds(service: Service): Promise<Kind[]> {
  const send = async (method: string, path: string, body?: object, headers = admin) => {
    const response = await fetch(service.url + path, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? undefined : ((await response.json()) as { data: Record<string, string> }).data;
  };
  /** Can be repeated after a failure. */
  const remove = async (collection: string, filter: object) => {
    const query = `fields=id&filter=${encodeURIComponent(JSON.stringify(filter))}`;
    const found = (await send('GET', `/${collection}?${query}`)) as unknown as { id: string }[];
    for (const { id } of found) await send('DELETE', `/${collection}/${id}`);
  };
  const create = async (path: string, body: object) => ({ id: '', ...(await send('POST', path, body)) });
  const logIn = async (email: string) => {
    const tokens = await send('POST', '/auth/login', { email, password }, {});
    return { headers: bearer(tokens?.access_token ?? ''), refresh_token: tokens?.refresh_token };
  };
  let admin = {};
  admin = (await logIn(administrator.email)).headers;

  const ownRow = {
    collection: 'users',
    action: 'read',
    fields: ['id', 'email'],
    permissions: { id: { _eq: '$CURRENT_USER' } },
  };
  const createPolicy = (name: string, values: object = { app_access: true }) =>
    create('/policies', { name, ...values });
  let users = 0;
  const createUser = async (values: object) => {
    const number = ++users;
    const token = `the-static-token-of-a-user-whose-number-is-${number}`;
    const { id } = await create('/users', { email: `user${number}@example.com`, token, ...values });
    const probe: Probe = { path: '/users/me', headers: bearer(token), isAllowed: true, changes: 0 };
    return { id, email: `user${number}@example.com`, token, path: `/users/${id}`, probe };
  };
  /** A user with this policy and no other. */
  const userWith = (policy: { id: string }, values: object = {}) => createUser({ policies: [policy.id], ...values });
  const app = await createPolicy('App');

  const suspended = await userWith(app);
  const role = await create('/roles', { name: 'Members', policies: [app.id] });
  const inRole = await createUser({ role: role.id });
  const otherRole = await create('/roles', { name: 'Others', policies: [app.id] });
  const inOtherRole = await createUser({ role: otherRole.id });
  const parent = await create('/roles', { name: 'Parent', policies: [app.id] });
  const child = await create('/roles', { name: 'Child', parent: parent.id });
  const inChild = await createUser({ role: child.id });
  const flagged = await createPolicy('Flagged');
  const withFlag = await userWith(flagged);
  const limited = await createPolicy('Limited');
  const withLimit = await userWith(limited);
  const ruled = await createPolicy('Ruled', {});
  await create('/permissions', { ...ownRow, policy: ruled.id });
  const withRule = await userWith(ruled);
  const open = await createPolicy('Public', {});
  // The public policy also applies to users without a role, so it grants nothing about them.
  const onlyOne = { permissions: { id: { _eq: suspended.id } }, policy: open.id };
  await create('/permissions', { ...ownRow, ...onlyOne });
  await send('PATCH', '/settings', { public_policy: open.id });
  const anyone: Probe = { path: `${suspended.path}?fields=id,email`, headers: {}, isAllowed: true, changes: 0 };
  let deleted = await userWith(app);
  const deletion = { ...deleted.probe };
  const signedIn = await userWith(app, { password });
  let session = await logIn(signedIn.email);
  const logout: Probe = { path: '/users/me', headers: session.headers, isAllowed: true, changes: 0 };
  const changed = await userWith(app, { password });
  const passwordChange: Probe = {
    path: '/users/me',
    headers: (await logIn(changed.email)).headers,
    isAllowed: true,
    changes: 0,
  };

  return [
    {
      name: 'logout',
      probe: logout,
      revoke: () => send('POST', '/auth/logout', { refresh_token: session.refresh_token }, {}),
      restore: async () => {
        session = await logIn(signedIn.email);
        logout.headers = session.headers;
      },
    },
    {
      name: 'password change',
      probe: passwordChange,
      revoke: () => send('PATCH', changed.path, { password }),
      restore: async () => {
        passwordChange.headers = (await logIn(changed.email)).headers;
      },
    },
    {
      name: 'suspension',
      probe: suspended.probe,
      revoke: () => send('PATCH', suspended.path, { status: 'suspended' }),
      restore: () => send('PATCH', suspended.path, { status: 'active' }),
    },
    {
      name: 'deletion',
      probe: deletion,
      revoke: () => remove('users', { id: { _eq: deleted.id } }),
      restore: async () => {
        deleted = await userWith(app);
        deletion.headers = deleted.probe.headers;
      },
    },
    {
      name: 'static token',
      probe: withLimit.probe,
      revoke: () => send('PATCH', withLimit.path, { token: null }),
      restore: () => send('PATCH', withLimit.path, { token: withLimit.token }),
    },
    {
      name: 'role of the user',
      probe: inRole.probe,
      revoke: () => send('PATCH', inRole.path, { role: null }),
      restore: () => send('PATCH', inRole.path, { role: role.id }),
    },
    {
      name: 'policies of the role',
      probe: inOtherRole.probe,
      revoke: () => send('PATCH', `/roles/${otherRole.id}`, { policies: [] }),
      restore: () => send('PATCH', `/roles/${otherRole.id}`, { policies: [app.id] }),
    },
    {
      name: 'parent of the role',
      probe: inChild.probe,
      revoke: () => send('PATCH', `/roles/${child.id}`, { parent: null }),
      restore: () => send('PATCH', `/roles/${child.id}`, { parent: parent.id }),
    },
    {
      name: 'policy',
      probe: withFlag.probe,
      revoke: () => send('PATCH', `/policies/${flagged.id}`, { app_access: false }),
      restore: () => send('PATCH', `/policies/${flagged.id}`, { app_access: true }),
    },
    {
      name: 'ip_access',
      probe: withLimit.probe,
      revoke: () => send('PATCH', `/policies/${limited.id}`, { ip_access: ['10.0.0.0/8'] }),
      restore: () => send('PATCH', `/policies/${limited.id}`, { ip_access: null }),
    },
    {
      name: 'permission',
      probe: withRule.probe,
      revoke: () => remove('permissions', { policy: { _eq: ruled.id } }),
      restore: () => create('/permissions', { ...ownRow, policy: ruled.id }),
    },
    {
      name: 'public policy',
      probe: anyone,
      revoke: () => send('PATCH', '/settings', { public_policy: null }),
      restore: () => send('PATCH', '/settings', { public_policy: open.id }),
    },
  ];
}
