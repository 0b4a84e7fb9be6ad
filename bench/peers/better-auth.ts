import { admin, runStatements, secret, usersQuery } from '../database.js';
import { startServer } from '../processes.js';
import { logInMembers, type Peer, post } from './peer.js';

/** better-auth in a server of its own (`better-auth/server.mjs`). Without a plugin, it has no list of users. */
export const betterAuth: Peer = {
  name: 'better-auth 1.6.34',
  packages: 'better-auth',
  start: async ({ folder, database, users, callers }) => {
    const variables = { DATABASE_URL: database.place, SECRET: secret };
    const server = await startServer('server.mjs', variables, { folder, ping: '/api/auth/ok' });
    // The other users get the same password hash.
    await post(`${server.url}/api/auth/sign-up/email`, { ...admin, name: 'Administrator' });
    await runStatements(database.place, filling(users));
    const logIn = async (email: string) => {
      const response = await post(`${server.url}/api/auth/sign-in/email`, { email, password: admin.password });
      return response.headers
        .getSetCookie()
        .map((cookie) => cookie.split(';', 1)[0])
        .join('; ');
    };
    const nextCookie = await logInMembers(callers, logIn);
    return {
      ...server,
      requests: {
        'GET /users/me': { path: '/api/auth/get-session', next: () => ({ cookie: nextCookie() }), target: 8 },
      },
    };
  },
};

const filling = (users: number) => [
  `insert into "user" (id, name, email, "emailVerified", "createdAt", "updatedAt")
    select md5(n::text), first_name || ' ' || last_name, email, true, now(), now() from (${usersQuery(users, 'null')}) generated`,
  `insert into account (id, "accountId", "providerId", "userId", password, "createdAt", "updatedAt")
    select md5('account' || id), id, 'credential', id, (select password from account), now(), now()
    from "user" where email <> '${admin.email}'`,
  'vacuum analyze',
];
