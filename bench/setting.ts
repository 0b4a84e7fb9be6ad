import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { hashToken } from '../plugins/tokens/refresh-tokens.js';
import { admin, type FilledDatabase, memberEmail, secret } from './database.js';
import type { Standing } from './floor/parameters.js';
import type { FloorSpecification } from './floor/server.js';
import { floorFile, type Server, serviceFile, startServer } from './processes.js';
import { type Recorder, startRecorder } from './statements.js';
import { decodeClaims } from './tokens.js';

/** The GET requests to measure, and how the floor builds its answer from the rows. */
export const reads = {
  me: { path: '/users/me', caller: 'member', answer: 'own row' },
  list: { path: '/users?limit=100', caller: 'admin', answer: 'rows' },
  filtered: {
    path: `/users?filter=${encodeURIComponent('{"status":{"_eq":"active"},"last_access":{"_nnull":true}}')}&sort=-last_access&fields=id,email,role.name&limit=25`,
    caller: 'admin',
    answer: 'rows',
  },
} as const;

/** Many, because the tokens and the rows of a single user would be in every cache. */
const memberCount = 400;

/** A filled database with the service and the floor running on it. */
export interface Setting {
  database: FilledDatabase;
  service: Server;
  floor: Server;
  tokens: { admin: string; members: string[] };
  /** An application, and the access tokens that it has for the members. */
  application: { authorization: string; tokens: string[] };
  stop(): Promise<void>;
}

/** Records what the service sends to the database, then starts the service and the floor on it. */
export async function startSetting(database: FilledDatabase, variables: Record<string, string> = {}): Promise<Setting> {
  const recorder = await startRecorder(database.variables);
  const tokens = {
    admin: (await logIn(recorder, admin.email)).access_token,
    members: [] as string[],
  };
  for (let number = 0; number < memberCount; number++) {
    tokens.members.push((await logIn(recorder, memberEmail(number))).access_token);
  }
  const client = await createClient(recorder, tokens.admin);
  const authorization = `Basic ${btoa(`${client.id}:${client.secret}`)}`;
  const applicationTokens: string[] = [];
  for (const token of tokens.members) applicationTokens.push(await signInTo(client, recorder, token));
  const [accessToken = ''] = applicationTokens;
  const requestsWithToken = {
    userInfo: { url: '/oauth/userinfo', headers: { authorization: `Bearer ${accessToken}` } },
    introspection: {
      method: 'POST',
      url: '/oauth/introspect',
      headers: { authorization, ...formType },
      payload: String(new URLSearchParams({ token: accessToken })),
    },
  } as const;
  const recordWithToken = async (name: keyof typeof requestsWithToken) => {
    await recorder.record(requestsWithToken[name]);
    const { headers, sent } = await recorder.record(requestsWithToken[name]);
    const { id: user } = decodeClaims(tokens.members[0] ?? '');
    return { headers, sent, recorded: { session: '', user, tokenHash: hashToken(accessToken), time: Date.now() } };
  };
  const specification: FloorSpecification = {
    engine: database.engine,
    place: database.place,
    secret,
    reads: [],
    refresh: await recordRefresh(recorder),
    applications: {
      client,
      issuer,
      userInfo: await recordWithToken('userInfo'),
      introspection: await recordWithToken('introspection'),
    },
    ping: await recorder.record({ url: '/server/ping' }),
  };
  // Times of use are written shortly after the requests, and they are part of the rows that are read.
  await sleep(500);
  const expected = new Map<string, string>();
  for (const { path, caller, answer } of Object.values(reads)) {
    const token = caller === 'admin' ? tokens.admin : (tokens.members[0] ?? '');
    const { body, headers, sent } = await recordRead(recorder, path, token);
    expected.set(path, body);
    specification.reads.push({
      path,
      answer,
      headers,
      sent,
      recorded: { session: decodeClaims(token).session, time: Date.now() },
    });
  }
  await recorder.close();

  const service = await startServer(serviceFile, { ...database.variables, PUBLIC_URL: issuer, ...variables });
  const floor = await startServer(floorFile, {
    FLOOR: JSON.stringify({ ...specification, place: database.secondPlace() }),
  });
  for (const { path, caller } of Object.values(reads)) {
    const token = caller === 'admin' ? tokens.admin : (tokens.members[0] ?? '');
    for (const { url } of [service, floor]) {
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
      const text = await answer.text();
      if (text !== expected.get(path))
        throw new Error(`${url}${path} does not answer as recorded: ${text.slice(0, 500)}`);
    }
  }
  for (const { url: path, ...asked } of Object.values(requestsWithToken)) {
    const { payload: body, ...init } = { payload: undefined, ...asked };
    const texts = await Promise.all(
      [service, floor].map(async ({ url }) => (await fetch(url + path, { ...init, ...(body ? { body } : {}) })).text()),
    );
    if (texts[0] !== texts[1]) throw new Error(`The answers to ${path} differ: ${texts.join('\n')}`);
  }
  return {
    database,
    service,
    floor,
    tokens,
    application: { authorization, tokens: applicationTokens },
    stop: async () => {
      await Promise.all([service.stop(), floor.stop()]);
    },
  };
}

const formType = { 'content-type': 'application/x-www-form-urlencoded' };
/** PUBLIC_URL of the service, which introspection returns. */
const issuer = 'http://localhost:8055';
const redirectUri = 'https://app.example.com/callback';
const verifier = 'the-verifier-of-every-authorization-request';

interface Client {
  id: string;
  secret: string;
}

async function createClient(recorder: Recorder, token: string): Promise<Client> {
  const payload = {
    name: 'An application',
    type: 'confidential',
    first_party: true,
    redirect_uris: [redirectUri],
    access_token_ttl: '1d',
  };
  const headers = { authorization: `Bearer ${token}` };
  return JSON.parse((await recorder.record({ method: 'POST', url: '/clients', headers, payload })).body).data;
}

/** Signs a user in to the application. @returns the access token of the application */
async function signInTo({ id, secret }: Client, { inject }: Recorder, sessionToken: string): Promise<string> {
  const parameters = new URLSearchParams({
    client_id: id,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid email roles',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const { headers } = await inject({
    url: `/oauth/authorize?${parameters}`,
    headers: { cookie: `gatehouse_session_token=${sessionToken}` },
  });
  const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  const { body } = await inject({
    method: 'POST',
    url: '/oauth/token',
    headers: formType,
    payload: String(new URLSearchParams({ ...form, client_id: id, client_secret: secret })),
  });
  return JSON.parse(body).access_token;
}

async function logIn(recorder: Recorder, email: string): Promise<{ access_token: string; refresh_token: string }> {
  const payload = { email, password: admin.password };
  return JSON.parse((await recorder.record({ method: 'POST', url: '/auth/login', payload })).body).data;
}

/** Records the statements that a warm service sends for this request. */
async function recordRead(recorder: Recorder, url: string, token: string) {
  const options = { url, headers: { authorization: `Bearer ${token}` } };
  await recorder.record(options);
  return recorder.record(options);
}

async function recordRefresh(recorder: Recorder): Promise<FloorSpecification['refresh']> {
  let { refresh_token: token } = await logIn(recorder, memberEmail(memberCount));
  // Use a later generation, so that its number cannot be mistaken for another value in the statement.
  for (let generation = 0; ; generation++) {
    const { body, headers, sent } = await recorder.record({
      method: 'POST',
      url: '/auth/refresh',
      payload: { refresh_token: token },
    });
    const { access_token, refresh_token } = JSON.parse(body).data;
    const recorded: Standing = {
      session: decodeClaims(access_token).session,
      tokenHash: hashToken(token),
      generation,
      time: Date.now(),
    };
    if (generation === 7) return { headers, sent, recorded };
    token = refresh_token;
  }
}
