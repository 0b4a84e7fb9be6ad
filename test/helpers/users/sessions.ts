import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { sessions } from '../../../db/schema.js';
import type { SessionMode } from '../../../schemas/sessions.js';
import { bearer, type TestApp } from '../service/app.js';
import { day } from '../service/clock.js';
import { administrator } from './credentials.js';

export const modes = ['json', 'cookie', 'session'] as const;

export const refreshCookie = 'gatehouse_refresh_token';
export const sessionCookie = 'gatehouse_session_token';

/** A session as stored by its client. */
export interface ClientSession {
  mode: SessionMode;
  /** The token that refreshes the session: the refresh token or, in mode `session`, the token in the cookie. */
  token: string;
  /** The access token. In mode `session`, it equals `token`. */
  accessToken: string;
  /** The headers of a request in this session. */
  headers: Record<string, string>;
  /** The payload and headers that refresh or log out this session. */
  carrier: { payload: object; headers: Record<string, string> };
}

/** The payload and headers that send `token` in the place that `mode` requires. */
export function carry(
  mode: SessionMode,
  token: string,
  name = mode === 'cookie' ? refreshCookie : sessionCookie,
): ClientSession['carrier'] {
  if (mode === 'json') return { payload: { mode, refresh_token: token }, headers: {} };
  return { payload: { mode }, headers: { cookie: `${name}=${token}` } };
}

/** The session in the response to a login or a refresh. */
export function sessionOf(mode: SessionMode, response: LightMyRequestResponse): ClientSession {
  if (response.statusCode !== 200) throw new Error(`No session: ${response.statusCode} ${response.body}`);
  const { data } = response.json();
  const cookie = mode === 'json' ? undefined : cookieOf(response, mode);
  const token = mode === 'json' ? data.refresh_token : cookie?.value;
  const accessToken = mode === 'session' ? token : data.access_token;
  if (!token || !accessToken) throw new Error(`The response lacks a token for mode ${mode}: ${response.body}`);
  return {
    mode,
    token,
    accessToken,
    headers: mode === 'session' ? { cookie: `${cookie?.name}=${token}` } : bearer(accessToken),
    carrier: carry(mode, token, cookie?.name),
  };
}

/** The cookie that a response sets for a mode. With https, its name has a prefix. */
export const cookieOf = (response: LightMyRequestResponse, mode: 'cookie' | 'session') =>
  response.cookies.find(
    ({ name }) => name.replace(/^__Host-/, '') === (mode === 'cookie' ? refreshCookie : sessionCookie),
  );

export async function logIn(
  { post }: TestApp,
  mode: SessionMode,
  { email, password }: { email: string; password: string } = administrator,
): Promise<ClientSession> {
  return sessionOf(mode, await post('/auth/login', { email, password, mode }));
}

export const refresh = ({ post }: TestApp, { carrier }: Pick<ClientSession, 'carrier'>) =>
  post('/auth/refresh', carrier.payload, carrier.headers);

export const logOut = ({ post }: TestApp, { carrier }: Pick<ClientSession, 'carrier'>) =>
  post('/auth/logout', carrier.payload, carrier.headers);

export const readMe = ({ get }: TestApp, { headers }: Pick<ClientSession, 'headers'>) => get('/users/me', headers);

/** The claims of a token, unverified. */
export const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

/**
 * Inserts a session into the database and returns the headers of its requests. The session starts now, and its token
 * expires after any test ends. Requests do not change its row.
 */
export async function openSession(app: FastifyInstance, user: string): Promise<Record<string, string>> {
  const now = app.clock();
  const expiresAt = new Date(now.getTime() + 365 * day);
  const [id, times] = [randomUUID(), { createdAt: now, authenticatedAt: now, lastUsedAt: expiresAt, expiresAt }];
  await app.db.insert(sessions).values({ id, user, ...times });
  const claims = { id: user, role: null, app_access: false, admin_access: false, session: id };
  return bearer(app.accessTokens.issue(claims, expiresAt));
}

/** Makes all sessions of a user stale, as if they had started long ago. */
export async function makeStale(app: FastifyInstance, user: string): Promise<void> {
  await app.db
    .update(sessions)
    .set({ authenticatedAt: new Date(0) })
    .where(eq(sessions.user, user));
}
