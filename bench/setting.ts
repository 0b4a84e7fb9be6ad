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
  const specification: FloorSpecification = {
    engine: database.engine,
    place: database.place,
    secret,
    reads: [],
    refresh: await recordRefresh(recorder),
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

  const service = await startServer(serviceFile, { ...database.variables, ...variables });
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
  return {
    database,
    service,
    floor,
    tokens,
    stop: async () => {
      await Promise.all([service.stop(), floor.stop()]);
    },
  };
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
