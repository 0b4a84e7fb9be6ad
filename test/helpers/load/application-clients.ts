import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sessionCookie } from '../users/sessions.js';
import { isRetryable } from './asking.js';

/** A client and the service that it uses, whose process is killed and started again at the same URL. */
export interface ApplicationWorld {
  url: string;
  /** A confidential first-party client with every grant type, and a notice of each logout. */
  client: { id: string; secret: string };
  resource: string;
  /** Users, of whom each application client uses its own. */
  users: readonly { email: string; password: string }[];
  ledger: ApplicationLedger;
  isOver(): boolean;
}

/** What clients were issued and what they have used, as far as the service has acknowledged it. */
export interface ApplicationLedger {
  /** The number of final responses. */
  answered: number;
  /** The number of responses that a killed process did not send. */
  lost: number;
  /** How often each flow was completed. */
  done: Record<string, number>;
  /** Token requests that must be refused from now on. */
  used: { what: string; form: Record<string, string> }[];
  /** Refresh tokens that no client uses any longer, and that must work. */
  refreshTokens: string[];
  /** Access tokens that must be active, or must not. */
  accessTokens: { token: string; isActive: boolean }[];
  /** The sessions of which the client must be notified. */
  endedSessions: string[];
  /** What should not have happened. */
  wrong: string[];
}

export const createApplicationLedger = (): ApplicationLedger => ({
  answered: 0,
  lost: 0,
  done: {},
  used: [],
  refreshTokens: [],
  accessTokens: [],
  endedSessions: [],
  wrong: [],
});

export const redirectUri = 'https://app.example.com/callback';
const verifier = 'the-verifier-of-every-authorization-request-of-this-test';
const challenge = createHash('sha256').update(verifier).digest('base64url');
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
const pauseMs = 30;
/** A device must wait for five seconds between two polls. */
const pollMs = 5_200;

export interface ApplicationAnswer {
  /** 0: the process was killed before it responded. */
  status: number;
  location: string;
  cookie: string;
  // biome-ignore lint/suspicious/noExplicitAny: any JSON; a client that misreads it fails
  body: any;
  /** Whether an earlier attempt may have taken effect without a response. */
  isInDoubt: boolean;
}

/** Requests that are repeated until there is a response, as clients do. */
export function createApplicationCalls({ url, client, ledger }: Pick<ApplicationWorld, 'url' | 'client' | 'ledger'>) {
  const authorization = `Basic ${btoa(`${client.id}:${client.secret}`)}`;

  const once = async (path: string, init: RequestInit): Promise<ApplicationAnswer> => {
    try {
      const response = await fetch(url + path, { redirect: 'manual', signal: AbortSignal.timeout(30_000), ...init });
      const text = await response.text();
      const { status, headers } = response;
      const [cookie = ''] = (headers.getSetCookie().find((one) => one.startsWith(sessionCookie)) ?? '').split(';', 1);
      const body = text.startsWith('{') ? JSON.parse(text) : undefined;
      return { status, location: headers.get('location') ?? '', cookie, body, isInDoubt: false };
    } catch {
      return { status: 0, location: '', cookie: '', body: undefined, isInDoubt: true };
    }
  };
  const untilFinal = async (path: string, init: RequestInit): Promise<ApplicationAnswer> => {
    for (let isInDoubt = false; ; isInDoubt = true) {
      const answer = await once(path, init);
      if (!isRetryable(answer.status)) {
        ledger.answered++;
        return { ...answer, isInDoubt };
      }
      ledger.lost++;
      await sleep(300);
    }
  };
  const formOf = (form: Record<string, string>): RequestInit => ({
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams(form),
  });

  return {
    get: (path: string, cookie: string) => untilFinal(path, { headers: { cookie } }),
    json: (path: string, body: object, cookie = '') =>
      untilFinal(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: url, ...(cookie ? { cookie } : {}) },
        body: JSON.stringify(body),
      }),
    form: (path: string, form: Record<string, string>) => untilFinal(`/oauth/${path}`, formOf(form)),
  };
}

type Calls = ReturnType<typeof createApplicationCalls>;

interface Actor {
  world: ApplicationWorld;
  calls: Calls;
  /** The cookie of the user's session. */
  cookie: string;
  number: number;
  /** Records a flow that was completed. */
  done(flow: string): void;
  /** Records whether a response has the expected status. */
  expect(what: string, answer: ApplicationAnswer, status: number): boolean;
}

/** The parameters of a token request with a code. */
const codeForm = (code: string) => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: redirectUri,
  code_verifier: verifier,
});
const refreshForm = (token: string) => ({ grant_type: 'refresh_token', refresh_token: token });

const authorizationOf = ({ world }: Actor): Record<string, string> => ({
  client_id: world.client.id,
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid email offline_access',
  code_challenge: challenge,
  code_challenge_method: 'S256',
});

const codeIn = ({ location }: ApplicationAnswer): string | null =>
  location.startsWith(redirectUri) ? new URL(location).searchParams.get('code') : null;

/** Requests a code for the signed-in user. */
async function requestCode(actor: Actor): Promise<string | undefined> {
  const { calls, cookie, world } = actor;
  const answer = await calls.get(`/oauth/authorize?${new URLSearchParams(authorizationOf(actor))}`, cookie);
  const code = codeIn(answer);
  if (code === null) world.ledger.wrong.push(`no code: ${answer.status} ${answer.location}`);
  return code ?? undefined;
}

/** Exchanges a code. If it fails because an earlier attempt has used the code, the client starts again. */
async function requestTokens(actor: Actor): Promise<Record<string, string> | undefined> {
  const code = await requestCode(actor);
  if (code === undefined) return undefined;
  const answer = await actor.calls.form('token', codeForm(code));
  const isUsed = answer.isInDoubt && answer.body?.error === 'invalid_grant';
  if (isUsed || !actor.expect('a code', answer, 200)) return undefined;
  return answer.body;
}

/** Codes, also presented twice at the same time. */
async function useCodes(actor: Actor): Promise<void> {
  const { calls, world, number, done } = actor;
  const { ledger } = world;
  const code = await requestCode(actor);
  if (code === undefined) return;
  const form = codeForm(code);
  const answers = await Promise.all(Array.from({ length: 1 + (number % 2) }, () => calls.form('token', form)));
  const successful = answers.filter(({ status }) => status === 200);
  if (successful.length > 1) ledger.wrong.push('a code worked twice at the same time');
  const mayBeUsed = answers.length > 1 || answers.some(({ isInDoubt }) => isInDoubt);
  if (successful.length === 0 && !mayBeUsed) ledger.wrong.push(`a code was refused: ${JSON.stringify(answers)}`);
  for (const { body } of successful) {
    done('codes');
    const isPresentedAgain = answers.length > 1 || (ledger.done.codes ?? 0) % 2 === 0;
    // Until the next kill, if possible, but not until the code expires.
    if (isPresentedAgain) await sleep(2_000);
    if (isPresentedAgain) actor.expect('a code, again', await calls.form('token', form), 400);
    // If a code is presented again, what was issued for it ends.
    ledger.accessTokens.push({ token: body.access_token, isActive: !isPresentedAgain });
  }
}

/** Refreshes a session many times. A response that was lost can be repeated, and a replaced token cannot be used. */
async function refresh(actor: Actor): Promise<void> {
  const { calls, world, done } = actor;
  const { ledger } = world;
  const first = (await requestTokens(actor))?.refresh_token;
  if (first === undefined) return;
  let [former, current] = ['', first];
  for (let count = 0; count < 40 && !world.isOver(); count++) {
    const parallel = Array.from({ length: count % 4 === 0 ? 2 : 1 }, () => calls.form('token', refreshForm(current)));
    const answers = await Promise.all(parallel);
    if (!answers.every((answer) => actor.expect('a refresh', answer, 200))) return;
    const next = new Set(answers.map(({ body }) => body.refresh_token as string));
    if (count % 4 === 1) {
      const again = await calls.form('token', refreshForm(current));
      if (!actor.expect('a refresh, repeated', again, 200)) return;
      next.add(again.body.refresh_token);
    }
    if (next.size !== 1) ledger.wrong.push('a refresh token worked twice: it has two successors');
    if (count % 4 === 2)
      actor.expect('a refresh token before the last', await calls.form('token', refreshForm(former)), 400);
    [former, current] = [current, [...next][0] ?? ''];
    done('refreshes');
    await sleep(pauseMs);
  }
  ledger.used.push({ what: 'a replaced refresh token', form: refreshForm(former) });
  ledger.refreshTokens.push(current);
}

async function connectDevice(actor: Actor): Promise<void> {
  const { calls, cookie, world, done } = actor;
  const { ledger } = world;
  const started = await calls.form('device', { scope: 'openid offline_access' });
  if (!actor.expect('a device', started, 200)) return;
  const { device_code: code, user_code: userCode } = started.body;
  const allowed = await calls.json('/account/device', { user_code: userCode, allow: true }, cookie);
  const isDecided = allowed.isInDoubt && allowed.status === 403;
  if (!isDecided && !actor.expect('the code of a device', allowed, 204)) return;
  const form = { grant_type: deviceGrant, device_code: code };
  let isInDoubt = false;
  for (;;) {
    const answer = await calls.form('token', form);
    isInDoubt ||= answer.isInDoubt;
    if (isInDoubt && answer.body?.error === 'slow_down') {
      await sleep(pollMs);
      continue;
    }
    const isUsed = isInDoubt && answer.body?.error === 'invalid_grant';
    if (!isUsed && !actor.expect('a device code', answer, 200)) return;
    ledger.used.push({ what: 'a device code', form });
    if (!isUsed) {
      ledger.accessTokens.push({ token: answer.body.access_token, isActive: true });
      done('devices');
    }
    return;
  }
}

async function push(actor: Actor): Promise<void> {
  const { calls, cookie, world, done } = actor;
  const pushed = await calls.form('par', authorizationOf(actor));
  if (!actor.expect('a pushed request', pushed, 201)) return;
  const parameters = new URLSearchParams({ client_id: world.client.id, request_uri: pushed.body.request_uri });
  const uri = `/oauth/authorize?${parameters}`;
  const answer = await calls.get(uri, cookie);
  if (codeIn(answer) !== null) done('pushed requests');
  // If the process was killed between the use of the request and the response, the client starts again.
  else if (!answer.isInDoubt) world.ledger.wrong.push(`a pushed request: ${answer.status} ${answer.location}`);
  if (codeIn(await calls.get(uri, cookie)) !== null) world.ledger.wrong.push('a pushed request worked twice');
}

async function actForItself({ calls, world, done, ...actor }: Actor): Promise<void> {
  const form = { grant_type: 'client_credentials', resource: world.resource };
  const answer = await calls.form('token', form);
  if (!actor.expect('client credentials', answer, 200)) return;
  world.ledger.accessTokens.push({ token: answer.body.access_token, isActive: true });
  done('client credentials');
}

async function exchange(actor: Actor): Promise<void> {
  const { calls, world, done } = actor;
  const subject = (await requestTokens(actor))?.access_token;
  if (subject === undefined) return;
  const form = { grant_type: exchangeGrant, subject_token: subject, subject_token_type: accessTokenType };
  const answer = await calls.form('token', { ...form, resource: world.resource });
  if (!actor.expect('an exchange', answer, 200)) return;
  world.ledger.accessTokens.push({ token: answer.body.access_token, isActive: true });
  done('exchanges');
}

async function revoke(actor: Actor): Promise<void> {
  const { calls, world, done } = actor;
  const tokens = await requestTokens(actor);
  if (!tokens) return;
  const { refresh_token: token = '', access_token: access = '' } = tokens;
  if (!actor.expect('a revocation', await calls.form('revoke', { token }), 200)) return;
  world.ledger.used.push({ what: 'a revoked refresh token', form: refreshForm(token) });
  world.ledger.accessTokens.push({ token: access, isActive: false });
  done('revocations');
}

/** Signs in to a session of its own, and signs out. */
async function signOut(actor: Actor): Promise<void> {
  const { calls, world, done } = actor;
  const cookie = await signIn(actor);
  if (cookie === undefined) return;
  const tokens = await requestTokens({ ...actor, cookie });
  if (!tokens) return;
  const { id_token: hint = '', access_token: access = '', refresh_token: token = '' } = tokens;
  const { sid } = JSON.parse(Buffer.from(hint.split('.')[1] ?? '', 'base64url').toString());
  const answer = await calls.get(`/oauth/end-session?${new URLSearchParams({ id_token_hint: hint })}`, cookie);
  if (!actor.expect('signing out', answer, 303)) return;
  world.ledger.endedSessions.push(sid);
  world.ledger.accessTokens.push({ token: access, isActive: false });
  world.ledger.used.push({ what: 'a refresh token of an ended session', form: refreshForm(token) });
  done('logouts');
}

async function signIn({ calls, world, number, expect }: Actor): Promise<string | undefined> {
  const answer = await calls.json('/auth/login', { ...world.users[number], mode: 'session' });
  return expect('a login', answer, 200) ? answer.cookie : undefined;
}

const flows = [useCodes, useCodes, refresh, refresh, connectDevice, push, actForItself, exchange, revoke, signOut];

/** How many users the clients need. */
export const flowCount = flows.length;

/** Runs each flow repeatedly until the test is over. */
export async function runApplicationClients(world: ApplicationWorld): Promise<void> {
  const { ledger } = world;
  const calls = createApplicationCalls(world);
  await Promise.all(
    flows.map(async (flow, number) => {
      const actor: Actor = {
        world,
        calls,
        cookie: '',
        number,
        done: (name) => {
          ledger.done[name] = (ledger.done[name] ?? 0) + 1;
        },
        expect: (what, answer, status) => {
          if (answer.status === status) return true;
          ledger.wrong.push(`${what}: ${answer.status} ${JSON.stringify(answer.body)}, in doubt: ${answer.isInDoubt}`);
          return false;
        },
      };
      actor.cookie = (await signIn(actor)) ?? '';
      while (!world.isOver()) {
        await flow(actor);
        await sleep(pauseMs);
      }
    }),
  );
}
