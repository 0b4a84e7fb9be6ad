/**
 * The floor: a bare server that does only what is indispensable. It verifies the token with the same library, sends the
 * statements that the service would send, and responds with the same bytes, including headers. Any additional time is the
 * overhead of the service.
 */
import { timingSafeEqual } from 'node:crypto';
import jwt from '@fastify/jwt';
import fastify from 'fastify';
import { deriveKey } from '../../plugins/platform/key-derivation.js';
import { createRefreshTokens, hashToken } from '../../plugins/tokens/refresh-tokens.js';
import type { Sent } from '../statements.js';
import { type Connection, openConnection } from './connection.js';
import { parametersFor, type Standing } from './parameters.js';

/** A request to the service and how it was handled. */
interface Recorded {
  headers: Record<string, string>;
  sent: Sent[];
  recorded: Standing;
}

/** The input of the floor, as JSON in the variable FLOOR. */
export interface FloorSpecification {
  engine: 'postgres' | 'embedded';
  place: string;
  secret: string;
  /** The responses to GET requests: their statements, and how the rows become the response. */
  reads: (Recorded & { path: string; answer: 'own row' | 'rows' })[];
  /** The two statements of a refresh. */
  refresh: Recorded;
  /** The statements of the endpoints to which applications present a token. The first of userinfo, and the last of introspection, reads it. */
  applications: { client: { id: string; secret: string }; issuer: string; userInfo: Recorded; introspection: Recorded };
  /** The response to GET /server/ping. */
  ping: { headers: Record<string, string>; body: string };
}

interface Claims {
  id: string;
  session: string;
}

const specification = JSON.parse(process.env.FLOOR ?? '') as FloorSpecification;
const { reads, refresh, applications, ping, secret } = specification;
const database: Connection = await openConnection(specification);

const app = fastify({
  logger: { level: 'error', file: '/dev/stderr' },
  routerOptions: { querystringParser: () => ({}) },
});
await app.register(jwt, {
  secret: deriveKey(secret, 'access-token'),
  sign: { algorithm: 'HS256', header: { alg: 'HS256', typ: 'at+jwt' } },
  verify: { algorithms: ['HS256'], allowedIss: 'gatehouse', checkTyp: 'at+jwt', cache: false },
});
app.get('/server/ping', async (_request, reply) => {
  reply.headers(ping.headers);
  return ping.body;
});

const readAt = new Map(reads.map((read) => [read.path, read]));
for (const path of new Set(reads.map(({ path }) => path.split('?', 1)[0] ?? ''))) {
  app.get(path, async (request, reply) => {
    const claims = app.jwt.verify<Claims>((request.headers.authorization ?? '').slice('Bearer '.length));
    const read = readAt.get(request.url);
    if (!read) throw new Error(`${request.url} was not recorded.`);
    const caller = { session: claims.session, time: Date.now() };
    let rows: Record<string, unknown>[] = [];
    for (const statement of read.sent) {
      rows = await database.query(statement.text, parametersFor(statement, read.recorded, caller));
    }
    reply.headers(read.headers);
    return JSON.stringify({ data: read.answer === 'own row' ? rows[0]?.own : rows });
  });
}

/** The row of an access token. */
interface TokenRow extends Record<string, unknown> {
  user: string;
  client: string;
  payload: { exp: number; iat: number; sid: string; scope: string; extra: object };
}

app.get('/oauth/userinfo', async (request, reply) => {
  const token = (request.headers.authorization ?? '').slice('Bearer '.length);
  const { sent, recorded, headers } = applications.userInfo;
  const is: Standing = { session: '', tokenHash: hashToken(token), time: Date.now() };
  const found: Record<string, unknown>[] = [];
  for (const statement of sent) {
    const [row] = await database.query(statement.text, parametersFor(statement, recorded, is));
    if (!row) throw new Error('That is no access token.');
    found.push(row);
    is.user = String(found[0]?.user);
  }
  reply.headers(headers);
  const { email, email_verified, roles } = found.at(-1)?.claims as Record<string, unknown>;
  return JSON.stringify({ sub: is.user, email, email_verified, roles });
});

const { id, secret: clientSecret } = applications.client;
const expectedSecret = Buffer.from(hashToken(clientSecret), 'hex');

app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
  done(null, new URLSearchParams(String(body))),
);
app.post('/oauth/introspect', async (request, reply) => {
  const credentials = Buffer.from((request.headers.authorization ?? '').slice('Basic '.length), 'base64').toString();
  const [given, presented = ''] = credentials.split(':', 2);
  const isRight = timingSafeEqual(Buffer.from(hashToken(presented), 'hex'), expectedSecret);
  if (given !== id || !isRight) throw new Error('That is not the client.');
  const token = (request.body as URLSearchParams).get('token') ?? '';
  const { sent, recorded, headers } = applications.introspection;
  const is: Standing = { session: '', tokenHash: hashToken(token), time: Date.now() };
  let rows: Record<string, unknown>[] = [];
  for (const statement of sent) rows = await database.query(statement.text, parametersFor(statement, recorded, is));
  const [{ user, client, payload }] = rows as [TokenRow];
  const { exp, iat, sid, scope, extra } = payload;
  reply.headers(headers);
  const state = { active: true, sub: user, ...extra, client_id: client, exp, iat, sid, iss: applications.issuer };
  return JSON.stringify({ ...state, scope, token_type: 'Bearer' });
});

const refreshTokens = createRefreshTokens([deriveKey(secret, 'refresh-token')]);
const quarterHour = 900;

app.post('/auth/refresh', async (request, reply) => {
  const { refresh_token: shown } = request.body as { refresh_token: string };
  const read = refreshTokens.read(shown);
  if (!read) throw new Error('That is no refresh token.');
  const { sessionId, generation } = read;
  const next = refreshTokens.issue({ sessionId, generation: generation + 1 });
  const claims = await database.transaction(async (query) => {
    const caller = { session: sessionId, tokenHash: hashToken(shown), generation, time: Date.now() };
    let rows: Record<string, unknown>[] = [];
    for (const statement of refresh.sent) {
      rows = await query(statement.text, parametersFor(statement, refresh.recorded, caller, hashToken(next)));
      if (rows.length !== 1) throw new Error('That refresh token was used already.');
    }
    const [found] = rows;
    return { id: found?.id, role: found?.role, app_access: true, admin_access: false, session: sessionId };
  });
  reply.headers(refresh.headers);
  const now = Math.floor(Date.now() / 1000);
  const accessToken = app.jwt.sign({ ...claims, iat: now, exp: now + quarterHour, iss: 'gatehouse' });
  return { data: { access_token: accessToken, refresh_token: next, expires: quarterHour * 1000 } };
});

process.once('SIGTERM', async () => {
  await app.close();
  await database.close();
});
await app.listen({ host: process.env.HOST ?? '127.0.0.1', port: Number(process.env.PORT) });
