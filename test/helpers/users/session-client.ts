import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionMode } from '../../../schemas/sessions.js';
import type { Service } from '../service/service.js';
import { administrator } from './credentials.js';
import { carry, claimsOf, refreshCookie, sessionCookie } from './sessions.js';

type Instance = Pick<Service, 'post'>;

/** A session whose client retries when a response asks it to. */
export interface SessionClient {
  readonly id: string;
  /** The token that the client presents. A test that loses a response sets it back to the previous one. */
  token: string;
  /** Sends one request. The client keeps its token. */
  ask(instance?: Instance): Promise<Response>;
  /**
   * Refreshes the session, and repeats the request until the response is final.
   * @param choose the instance that receives each attempt
   * @returns the statuses of all attempts; 0 if there was no response
   */
  refresh(choose?: Instance | ((attempt: number) => Instance)): Promise<number[]>;
}

/** Milliseconds after which a client without a response retries. */
const pauseMs = 1_000;

/** @param maxRetryAfter the longest Retry-After that a response may have, in seconds: half of the grace period */
export async function startSession(
  instance: Instance,
  password: string,
  {
    email = administrator.email,
    mode = 'json',
    maxRetryAfter = 5,
  }: { email?: string; mode?: SessionMode; maxRetryAfter?: number } = {},
): Promise<SessionClient> {
  const tokenIn = async (response: Response): Promise<string> => {
    const { data } = (await response.json()) as { data: { refresh_token?: string } };
    const name = mode === 'cookie' ? refreshCookie : sessionCookie;
    const cookie = response.headers.getSetCookie().find((text) => text.startsWith(`${name}=`));
    const token = mode === 'json' ? data.refresh_token : cookie?.slice(name.length + 1).split(';')[0];
    if (!token) throw new Error(`The response lacks a token for mode ${mode}.`);
    return token;
  };
  const login = await instance.post('/auth/login', { email, password, mode });
  if (login.status !== 200) throw new Error(`The login returned ${login.status}.`);
  const accessToken = mode === 'session' ? undefined : ((await login.clone().json()) as Tokens).data.access_token;
  const token = await tokenIn(login);

  const client: SessionClient = {
    id: String(claimsOf(accessToken ?? token).session),
    token,
    ask: (to = instance) => {
      const { payload, headers } = carry(mode, client.token);
      return to.post('/auth/refresh', payload, headers);
    },
    refresh: async (choose = instance) => {
      const statuses: number[] = [];
      for (let attempt = 0; ; attempt++) {
        const response = await client
          .ask(typeof choose === 'function' ? choose(attempt) : choose)
          .catch(() => undefined);
        statuses.push(response?.status ?? 0);
        if (response?.status === 200) client.token = await tokenIn(response);
        if (response && response.status !== 503) return statuses;
        const pause = response ? Number(response.headers.get('retry-after')) * 1_000 : pauseMs;
        if (!(pause <= maxRetryAfter * 1_000)) throw new Error(`Retry-After is ${pause} ms.`);
        await sleep(Math.max(pause, 100));
      }
    },
  };
  return client;
}

interface Tokens {
  data: { access_token: string };
}
