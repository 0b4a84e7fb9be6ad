import type { LightMyRequestResponse } from 'fastify';
import type { SessionMode } from '../../schemas/sessions.js';
import { admin, bearer, type TestApp } from './app.js';

export const modes = ['json', 'cookie', 'session'] as const;

export const refreshCookie = 'gatehouse_refresh_token';
export const sessionCookie = 'gatehouse_session_token';

/** A session as its client holds it. */
export interface ClientSession {
  mode: SessionMode;
  /** What goes on with the session: the refresh token or, in mode `session`, the token in the cookie. */
  token: string;
  /** The access token; in mode `session` that is `token` again. */
  accessToken: string;
  /** The headers of a request that is made in this session. */
  headers: Record<string, string>;
  /** What a refresh or a logout of this session sends. */
  carrier: { payload: object; headers: Record<string, string> };
}

/** What a refresh or a logout sends to show `token` at the place of `mode`. */
export function carry(mode: SessionMode, token: string): ClientSession['carrier'] {
  if (mode === 'json') return { payload: { mode, refresh_token: token }, headers: {} };
  const name = mode === 'cookie' ? refreshCookie : sessionCookie;
  return { payload: { mode }, headers: { cookie: `${name}=${token}` } };
}

/** The session that an answer to login or refresh gives. */
export function sessionOf(mode: SessionMode, response: LightMyRequestResponse): ClientSession {
  if (response.statusCode !== 200) throw new Error(`No session: ${response.statusCode} ${response.body}`);
  const { data } = response.json();
  const token = mode === 'json' ? data.refresh_token : cookieOf(response, mode)?.value;
  const accessToken = mode === 'session' ? token : data.access_token;
  if (!token || !accessToken) throw new Error(`The answer lacks a token of mode ${mode}: ${response.body}`);
  return {
    mode,
    token,
    accessToken,
    headers: mode === 'session' ? { cookie: `${sessionCookie}=${token}` } : bearer(accessToken),
    carrier: carry(mode, token),
  };
}

/** The cookie that an answer sets for a mode. */
export const cookieOf = (response: LightMyRequestResponse, mode: 'cookie' | 'session') =>
  response.cookies.find(({ name }) => name === (mode === 'cookie' ? refreshCookie : sessionCookie));

export async function logIn(
  { post }: TestApp,
  mode: SessionMode,
  { email, password }: { email: string; password: string } = admin,
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
