// @suite postgres-only: only PostgreSQL allows several instances
// @suite not-everyday: keeps a service under load

import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalJWKSet, jwtVerify } from 'jose';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { send } from '../helpers/http/send.js';
import { freePort } from '../helpers/servers/ports.js';
import { runCommand } from '../helpers/service/command.js';
import { createHome, type Service, startService } from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';
import { decodeJwt } from '../helpers/tokens/jwt.js';

/**
 * Changes the keys for access tokens and SECRET under load, instance by instance, as the guide describes. No user may
 * be signed out, and no request may be rejected. The embedded engine allows one instance, so clients wait while it
 * restarts.
 */

const password = 'the password';
const before = 'the secret of before which is long enough';
const after = 'the secret from now on which is long enough';
// More sessions than the load creates: at the limit, a new session would end the oldest.
const base = { ...cheapHashing, ADMIN_PASSWORD: password, SESSIONS_PER_USER: '10000' };

t.test('changing the keys and SECRET under load signs no user out', async (t) => {
  const home = await createHome(t, { prepared: true });
  const ports = await Promise.all((engine === 'postgres' ? [0, 1] : [0]).map(freePort));
  const start = (port: number, variables: Record<string, string>) =>
    startService(home, { ...base, ...variables, PORT: String(port) });
  let variables: Record<string, string> = { SECRET: before };
  const instances: Service[] = await Promise.all(ports.map((port) => start(port, variables)));

  const load = createLoad(ports);

  /** Restarts the instances one after another. */
  const restart = async (changed: Record<string, string>, meanwhile = async () => {}) => {
    variables = changed;
    for (const [index, port] of ports.entries()) {
      await instances[index]?.stop();
      await meanwhile();
      instances[index] = await start(port, variables);
      // For a while, one instance has the old variables, and the other has the new ones.
      await load.hasDone(30);
    }
  };
  const rotate = async () => {
    const { code, said } = await runCommand(home, 'keys-rotate', ['--after=0s'], { ...base, ...variables });
    t.equal(code, 0, said);
    t.match(said, 'Other services can cache the key set for longer');
  };

  const clients = [load.withCookie(), load.withRefreshTokens(), load.withLogins()];
  await load.hasDone(20);

  const keys = { ACCESS_TOKEN_ALGORITHM: 'EdDSA' };
  await restart({ ...keys, SECRET: before, PREVIOUS_SECRETS: after });
  if (engine === 'postgres') await rotate();
  await restart({ ...keys, SECRET: after, PREVIOUS_SECRETS: before }, engine === 'postgres' ? undefined : rotate);
  if (engine === 'postgres') await rotate();
  await restart(
    { ACCESS_TOKEN_ALGORITHM: 'ES256', SECRET: after, PREVIOUS_SECRETS: before },
    engine === 'postgres' ? undefined : rotate,
  );
  await load.hasDone(20);
  load.stop();
  await Promise.all(clients);

  t.comment(`${load.answers.size} kinds of responses: ${JSON.stringify(Object.fromEntries(load.answers))}`);
  t.comment(`${load.kids.size} keys, ${load.verified} tokens verified by another service`);
  t.strictSame(
    [...load.answers.keys()].filter((answer) => !/ 200$/.test(answer)),
    [],
    'only 200',
  );
  t.strictSame(load.unverified, [], 'the key set of an instance verifies a token that the instance has just signed');
  t.ok(load.kids.has('none') && load.kids.size >= 4, 'the tokens include all keys');
});

/** Clients that use any of the instances, and try another one if that is unavailable. */
function createLoad(ports: readonly number[]) {
  const answers = new Map<string, number>();
  const kids = new Set<string>();
  const unverified: string[] = [];
  let verified = 0;
  let isOver = false;
  let done = 0;

  const ask = async (method: string, path: string, headers: Record<string, string>, body?: object) => {
    for (let turn = 0; ; turn++) {
      const port = ports[(done + turn) % ports.length] ?? 0;
      const answer = await send(
        `http://127.0.0.1:${port}${path}`,
        { method, headers },
        body && JSON.stringify(body),
      ).catch(() => undefined);
      if (!answer) {
        // The instance was not running.
        await sleep(20);
        continue;
      }
      const key = `${method} ${path} ${answer.status}`;
      answers.set(key, (answers.get(key) ?? 0) + 1);
      done++;
      return { ...answer, port };
    }
  };

  /** Verifies a token like a service that has just read the keys. */
  const look = async (token: string, port: number) => {
    const { kid } = decodeJwt(token).header;
    kids.add(String(kid ?? 'none'));
    if (kid === undefined || isOver) return;
    const set = await send(`http://127.0.0.1:${port}/.well-known/jwks.json`, {}).catch(() => undefined);
    if (!set) return;
    const expected = { issuer: 'gatehouse', typ: 'at+jwt', algorithms: ['EdDSA', 'ES256'] };
    await jwtVerify(token, createLocalJWKSet(JSON.parse(set.text)), expected).then(
      () => verified++,
      (error) => unverified.push(String(error)),
    );
  };

  const logIn = async (mode: 'json' | 'session') => {
    const answer = await ask('POST', '/auth/login', {}, { email: 'admin@example.com', password, mode });
    if (answer.status !== 200) throw new Error(`login: ${answer.status} ${answer.text}`);
    const [cookie = ''] = answer.headers['set-cookie'] ?? [];
    const token: string =
      mode === 'json' ? JSON.parse(answer.text).data.access_token : (/=([^;]+)/.exec(cookie)?.[1] ?? '');
    await look(token, answer.port);
    return { token, body: JSON.parse(answer.text).data };
  };
  const whileItLasts = async (work: () => Promise<unknown>) => {
    while (!isOver) await work();
  };

  return {
    answers,
    kids,
    unverified,
    get verified() {
      return verified;
    },
    stop: () => {
      isOver = true;
    },
    /** Waits until this many more requests have been answered. */
    hasDone: async (more: number) => {
      for (const end = done + more; done < end; ) await sleep(10);
    },
    /** Logs in once, before anything changes. */
    withCookie: async () => {
      const { token } = await logIn('session');
      await whileItLasts(() => ask('GET', '/users/me', { cookie: `gatehouse_session_token=${token}` }));
    },
    withRefreshTokens: async () => {
      let { body } = await logIn('json');
      await whileItLasts(async () => {
        await ask('GET', '/users/me', { authorization: `Bearer ${body.access_token}` });
        const answer = await ask('POST', '/auth/refresh', {}, { refresh_token: body.refresh_token });
        if (answer.status !== 200) return;
        body = JSON.parse(answer.text).data;
        await look(body.access_token, answer.port);
      });
    },
    withLogins: () =>
      whileItLasts(async () => {
        const { token } = await logIn(Math.random() < 0.5 ? 'json' : 'session');
        await ask('GET', '/users/me', { authorization: `Bearer ${token}` });
      }),
  };
}
