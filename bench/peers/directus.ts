import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { admin, roleOfUser, runStatements, secret, userColumns, usersQuery } from '../database.js';
import { startServer } from '../processes.js';
import { logInMembers, type Peer, post } from './peer.js';

const program = 'node_modules/directus/cli.js';

/** Directus, as a black box: its HTTP API, and its tables, into which the users are inserted. */
export const directus: Peer = {
  name: 'Directus 12.4.0',
  packages: 'directus',
  start: async ({ folder, database, users, callers }) => {
    // Directus requires a newer Node than the service.
    const node = resolve(folder, 'node_modules/.bin/node');
    const variables = {
      DB_CLIENT: 'pg',
      DB_CONNECTION_STRING: database.place,
      SECRET: secret,
      ADMIN_EMAIL: admin.email,
      ADMIN_PASSWORD: admin.password,
      ACCESS_TOKEN_TTL: '1d',
      // By default, each login takes at least half a second.
      LOGIN_STALL_TIME: '0',
      LOG_LEVEL: 'error',
      TELEMETRY: 'false',
      RATE_LIMITER_ENABLED: 'false',
      // It would respond with 503 under load.
      PRESSURE_LIMITER_ENABLED: 'false',
    };
    const { PATH } = process.env;
    execFileSync(node, [program, 'bootstrap'], {
      cwd: folder,
      env: { PATH, NODE_ENV: 'production', ...variables },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await runStatements(database.place, filling(users));
    const server = await startServer(program, variables, { node, folder, parameters: ['start'] });
    const logIn = async (email: string) => {
      const response = await post(`${server.url}/auth/login`, { email, password: admin.password });
      return ((await response.json()) as { data: { access_token: string } }).data.access_token;
    };
    const nextToken = await logInMembers(callers, logIn);
    const next = () => ({ token: nextToken() });
    return {
      ...server,
      requests: {
        'GET /users/me': { path: '/users/me', next, target: 20 },
        'GET /users?limit=100': { path: '/users?limit=100', next, target: 10 },
      },
    };
  },
};

/**
 * The same roles and users as in the service's database. Their policy lets them read all fields of users. They have no access to
 * Directus's app: without a license, only a few users may have it.
 */
const filling = (users: number) => [
  `insert into directus_roles (id, name) select gen_random_uuid(), 'Role ' || n from generate_series(1, 20) n`,
  `with made as (
      insert into directus_policies (id, name, app_access) values (gen_random_uuid(), 'Members', false) returning id
    ), permission as (
      insert into directus_permissions (policy, collection, action, fields, permissions)
        select id, 'directus_users', 'read', '*', '{}' from made
    )
    insert into directus_access (id, role, policy)
      select gen_random_uuid(), directus_roles.id, made.id from directus_roles, made where directus_roles.name like 'Role %'`,
  `insert into directus_users (id, ${userColumns}, role)
    select gen_random_uuid(), ${userColumns}, ${roleOfUser('directus_roles')}
    from (${usersQuery(users, `(select password from directus_users where email = '${admin.email}')`)}) generated`,
  'vacuum analyze',
];
