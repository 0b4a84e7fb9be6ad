// @suite postgres-only: only PostgreSQL allows several instances
// @suite not-everyday: keeps a service under load

import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JWTPayload, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { send } from '../helpers/http/send.js';
import { freePort } from '../helpers/servers/ports.js';
import { runCommand } from '../helpers/service/command.js';
import { createHome, type Service, startService } from '../helpers/service/service.js';
import { cheapHashing } from '../helpers/service/variables.js';
import { decodeJwt } from '../helpers/tokens/jwt.js';

/**
 * Changes the signing keys and SECRET under load, instance by instance, as the guide describes. No user may be signed
 * out, no request may be rejected, and applications and APIs can verify every token. The embedded engine allows one
 * instance, so clients wait while it restarts.
 */

const password = 'the password';
const before = 'the secret of before which is long enough';
const after = 'the secret from now on which is long enough';
// More sessions than the load creates: at the limit, a new session would end the oldest.
const issuer = 'http://accounts.example.com';
const base = { ...cheapHashing, ADMIN_PASSWORD: password, SESSIONS_PER_USER: '10000', PUBLIC_URL: issuer };

const api = 'https://orders.example.com';
const callback = 'https://shop.example.com/callback';
/**
 * Seconds from a rotation until the new keys sign. An instance notices a rotation within five seconds, and then it
 * takes at most as long until an API reads the key set again.
 */
const lead = 15;
const cacheMaxAge = 3_000;

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
    const { code, said } = await runCommand(home, 'keys-rotate', [`--after=${lead}s`], { ...base, ...variables });
    t.equal(code, 0, said);
    t.match(said, 'Other services can cache the key set for longer');
  };
  const newKeysSign = async () => {
    await sleep(lead * 1_000 + 500);
    await load.hasDone(50);
  };

  const clients = [load.withCookie(), load.withRefreshTokens(), load.withLogins()];
  await load.createApi();
  for (const algorithm of ['RS256', 'EdDSA']) clients.push(load.withApplication(await load.createClient(algorithm)));
  await load.hasDone(50);

  const keys = { ACCESS_TOKEN_ALGORITHM: 'EdDSA' };
  await restart({ ...keys, SECRET: before, PREVIOUS_SECRETS: after });
  if (engine === 'postgres') await rotate();
  await newKeysSign();
  await restart({ ...keys, SECRET: after, PREVIOUS_SECRETS: before }, engine === 'postgres' ? undefined : rotate);
  if (engine === 'postgres') await rotate();
  await newKeysSign();
  await restart(
    { ACCESS_TOKEN_ALGORITHM: 'ES256', SECRET: after, PREVIOUS_SECRETS: before },
    engine === 'postgres' ? undefined : rotate,
  );
  await newKeysSign();
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
  const { verified: ofApplications, failed, kids } = load.applications;
  t.comment(`${ofApplications} tokens verified by applications and APIs, signed with ${kids.size} keys`);
  t.strictSame(failed, [], 'applications and APIs verify every token');
  t.ok(ofApplications > 50 && kids.size >= 6, 'the tokens include the keys of both algorithms');
});

/** Clients that use any of the instances, and try another one if that is unavailable. */
function createLoad(ports: readonly number[]) {
  const answers = new Map<string, number>();
  const kids = new Set<string>();
  const unverified: string[] = [];
  let verified = 0;
  let isOver = false;
  let done = 0;

  const applications = { verified: 0, failed: [] as string[], kids: new Set<string>() };

  /** Sends a request to an instance that runs, as a load balancer does. */
  const reachInstance = async (
    path: string,
    options: { method: string; headers: Record<string, string> },
    body?: string,
  ) => {
    for (let turn = 0; ; turn++) {
      const port = ports[(done + turn) % ports.length] ?? 0;
      const answer = await send(`http://127.0.0.1:${port}${path}`, options, body).catch(() => undefined);
      // On a machine under load, an instance may start so slowly that it responds before it is ready.
      if (answer && !(answer.status === 503 && answer.text.includes('The service is starting'))) {
        done++;
        return { ...answer, port };
      }
      await sleep(20);
    }
  };

  const ask = async (method: string, path: string, headers: Record<string, string>, body?: object) => {
    const answer = await reachInstance(path, { method, headers }, body && JSON.stringify(body));
    const key = `${method} ${path} ${answer.status}`;
    answers.set(key, (answers.get(key) ?? 0) + 1);
    return answer;
  };

  /** The same for client libraries, which send requests to PUBLIC_URL. */
  const reach = async (url: string, { method = 'GET', headers, body }: RequestInit): Promise<Response> => {
    const { pathname, search } = new URL(url);
    const options = { method, headers: Object.fromEntries(new Headers(headers)) };
    const answer = await reachInstance(`${pathname}${search}`, options, body ? String(body) : undefined);
    const sent = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as [string, string]);
    return new Response(answer.text, { status: answer.status, headers: sent });
  };

  /** An API that caches the key set for a few seconds, and does not read it again when it does not know a key. */
  const keysOfApi = createRemoteJWKSet(new URL(`${issuer}/oauth/jwks`), {
    cacheMaxAge,
    cooldownDuration: 3_600_000,
    [customFetch]: reach,
  });
  const verify = async (
    token: string,
    options: { audience: string; algorithm: string; typ?: string },
  ): Promise<JWTPayload> => {
    const { algorithm, ...expected } = options;
    const { payload, protectedHeader } = await jwtVerify(token, keysOfApi, {
      issuer,
      algorithms: [algorithm],
      ...expected,
    });
    applications.kids.add(String(protectedHeader.kid));
    applications.verified++;
    return payload;
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

  const asAdministrator = async (path: string, body: object) => {
    const { token } = await logIn('json');
    const answer = await ask('POST', path, { authorization: `Bearer ${token}` }, body);
    return JSON.parse(answer.text).data;
  };

  return {
    applications,
    createApi: () => asAdministrator('/resources', { identifier: api, name: 'Orders', scopes: ['orders:read'] }),
    createClient: async (algorithm: string): Promise<{ id: string; secret: string; algorithm: string }> => {
      const { id, secret } = await asAdministrator('/clients', {
        name: 'Shop',
        type: 'confidential',
        first_party: true,
        redirect_uris: [callback],
        resources: [api],
        id_token_signed_response_alg: algorithm,
      });
      return { id, secret, algorithm };
    },
    /** Signs a user in to an application, which calls an API, and refreshes its tokens. */
    withApplication: async ({ id, secret, algorithm }: { id: string; secret: string; algorithm: string }) => {
      const { token: session } = await logIn('session');
      const client = { id_token_signed_response_alg: algorithm };
      const configure = (metadata: oidc.ServerMetadata) => {
        const config = new oidc.Configuration(metadata, id, client, oidc.ClientSecretBasic(secret));
        config[oidc.customFetch] = (url, options) => reach(url, options as RequestInit);
        oidc.allowInsecureRequests(config);
        // Also verifies the signatures of ID tokens, which come directly from the issuer. Each configuration reads the key set.
        oidc.enableNonRepudiationChecks(config);
        return config;
      };
      const response = await reach(`${issuer}/.well-known/openid-configuration`, {});
      const metadata = (await response.json()) as oidc.ServerMetadata;
      const check = async (tokens: oidc.TokenEndpointResponse) => {
        const { sub } = await verify(tokens.id_token ?? '', { audience: id, algorithm });
        const { sub: user, client_id } = await verify(tokens.access_token, {
          audience: api,
          algorithm: 'RS256',
          typ: 'at+jwt',
        });
        if (sub === undefined || user !== sub || client_id !== id)
          throw new Error('The tokens are of another user or client.');
        const { active } = await oidc.tokenIntrospection(configure(metadata), tokens.access_token);
        if (!active) throw new Error('The token is not active.');
      };
      await whileItLasts(async () => {
        try {
          const verifier = oidc.randomPKCECodeVerifier();
          const nonce = oidc.randomNonce();
          const to = oidc.buildAuthorizationUrl(configure(metadata), {
            redirect_uri: callback,
            scope: 'openid offline_access orders:read',
            resource: api,
            nonce,
            code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
            code_challenge_method: 'S256',
          });
          const { headers } = await reach(to.href, { headers: { cookie: `gatehouse_session_token=${session}` } });
          const back = new URL(headers.get('location') ?? '', issuer);
          const checks = { pkceCodeVerifier: verifier, expectedNonce: nonce };
          const tokens = await oidc.authorizationCodeGrant(configure(metadata), back, checks);
          await check(tokens);
          await check(await oidc.refreshTokenGrant(configure(metadata), tokens.refresh_token ?? '', { resource: api }));
        } catch (error) {
          applications.failed.push(`${error} ${JSON.stringify((error as { cause?: unknown }).cause ?? null)}`);
        }
      });
    },
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
