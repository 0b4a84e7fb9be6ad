import { setTimeout as sleep } from 'node:timers/promises';
import { createAuthenticator } from '../users/authenticator.js';
import { claimsOf } from '../users/sessions.js';
import type { RetryingClient } from './asking.js';
import type { HeldPasskey, HeldSession, Ledger } from './ledger.js';
import type { ReceivedMails } from './letters.js';

/** The data that all clients share. */
export interface World {
  asking: RetryingClient;
  letters: ReceivedMails;
  ledger: Ledger;
  /** The headers of an administrator. */
  authorization: Record<string, string>;
  /** The role given to invited users. */
  role: string;
  isOver(): boolean;
}

/** A client, which repeats its actions until the test is over. @param number unique among the clients of its kind */
type Client = (world: World, number: number) => Promise<void>;

/** The time between two actions of a client, in milliseconds. */
const pauseMs = 15;
/** Clients do not wait for an email whose delivery was interrupted by a kill, because it arrives only after a minute. */
const mailTimeoutMs = 3_000;
/** How many passkeys a client keeps. */
const maxPasskeys = 3;
/** The origin of the pages on which passkeys are used. */
export const passkeyOrigin = 'http://localhost:8055';
/** How often a session is refreshed before the client starts another. */
const maxRefreshes = 12;

const passwordOf = (version: number) => `the password number ${version} of somebody`;

/** Records an unexpected response. @returns whether the response was the expected one */
function expect({ ledger }: World, what: string, answer: { status: number; body: unknown }, status: number): boolean {
  if (answer.status === status) return true;
  ledger.wrong.push(`${what}: ${answer.status} ${JSON.stringify(answer.body ?? '').slice(0, 300)}`);
  return false;
}

/**
 * Uses the links in all emails that have arrived, including links requested earlier, because emails are late when a
 * service is killed.
 */
async function useLinks(
  { letters, ledger }: World,
  waiting: Map<string, string>,
  use: (email: string, token: string, password: string) => Promise<boolean>,
): Promise<void> {
  for (const [email, password] of waiting) {
    const token = await letters.takeToken(email, 0);
    if (token === undefined) continue;
    waiting.delete(email);
    if (await use(email, token, password)) ledger.passwords.set(email, password);
  }
}

const registers: Client = async (world, number) => {
  const { asking, ledger, isOver } = world;
  const waiting = new Map<string, string>();
  for (let count = 0; !isOver(); count++) {
    const email = `registered-${number}-${count}@example.com`;
    const password = passwordOf(count);
    const answer = await asking.requestUntilFinal('POST', '/users/register', { email, password });
    if (!expect(world, `registering ${email}`, answer, 204)) continue;
    ledger.registered.push(email);
    if (count % 3 === 2) waiting.set(email, password);
    await sleep(pauseMs);
    await useLinks(world, waiting, async (email, token) => {
      const verified = await asking.requestUntilFinal('GET', `/users/register/verify-email?token=${token}`);
      // A link works once. An earlier attempt may have succeeded without a response.
      const isUsed = verified.isInDoubt && verified.status === 400;
      if (!isUsed && !expect(world, `verifying ${email}`, verified, 204)) return false;
      ledger.verified.push(email);
      return true;
    });
  }
};

const invites: Client = async (world, number) => {
  const { asking, ledger, authorization, role, isOver } = world;
  const waiting = new Map<string, string>();
  for (let count = 0; !isOver(); count++) {
    const email = `invited-${number}-${count}@example.com`;
    const answer = await asking.requestUntilFinal('POST', '/users/invite', { email, role }, authorization);
    if (!expect(world, `inviting ${email}`, answer, 204)) continue;
    ledger.invited.push(email);
    if (count % 3 === 2) waiting.set(email, passwordOf(count));
    await sleep(pauseMs);
    await useLinks(world, waiting, async (email, token, password) => {
      const accepted = await asking.requestUntilFinal('POST', '/users/invite/accept', { token, password });
      const isUsed = accepted.isInDoubt && accepted.status === 400;
      if (!isUsed && !expect(world, `accepting as ${email}`, accepted, 204)) return false;
      ledger.accepted.push(email);
      return true;
    });
  }
};

const resets: Client = async (world, number) => {
  const { asking, letters, ledger, isOver } = world;
  const email = memberOf('resets', number);
  const counts = { asked: 0, done: 0 };
  ledger.resets.set(email, counts);
  while (!isOver()) {
    const answer = await asking.requestUntilFinal('POST', '/auth/password/request', { email });
    if (!expect(world, `requesting a link for ${email}`, answer, 204)) continue;
    counts.asked++;
    const token = await letters.takeToken(email, mailTimeoutMs);
    if (token === undefined) continue;
    const password = passwordOf(counts.done + 1);
    const reset = await asking.requestUntilFinal('POST', '/auth/password/reset', { token, password });
    if (reset.status === 403) {
      // Either an earlier attempt succeeded without a response, or the link is void: an email can be delivered twice,
      // and a link that was created before the last reset no longer works.
      const login = reset.isInDoubt && (await asking.requestUntilFinal('POST', '/auth/login', { email, password }));
      if (!login || login.status === 401) continue;
    } else if (!expect(world, `resetting the password of ${email}`, reset, 204)) continue;
    counts.done++;
    ledger.passwords.set(email, password);
    await sleep(pauseMs);
  }
};

const refreshes: Client = async (world, number) => {
  const { asking, ledger, isOver } = world;
  const email = memberOf('refreshes', number);
  while (!isOver()) {
    const session = await logIn(world, email);
    let isLost = false;
    while (session && !isLost && !isOver() && session.generation < maxRefreshes) {
      await sleep(pauseMs);
      const { refreshToken: refresh_token } = session;
      const answer = await asking.requestUntilFinal('POST', '/auth/refresh', { refresh_token });
      if (answer.status === 200) {
        session.refreshToken = answer.body.data.refresh_token;
        session.generation++;
      } else {
        isLost = true;
        expect(world, `refreshing a session of ${email}`, answer, 200);
      }
    }
    if (session && !isLost) ledger.sessions.push(session);
  }
};

const logsIn: Client = async (world, number) => {
  const { asking, ledger, isOver } = world;
  const email = memberOf('logsIn', number);
  while (!isOver()) {
    const session = await logIn(world, email);
    if (session) {
      const me = await asking.requestUntilFinal('GET', '/users/me?fields=id', undefined, session.headers);
      expect(world, `reading the account of ${email}`, me, 200);
      ledger.sessions.push(session);
    }
    await sleep(10 * pauseMs);
  }
};

/** Adds passkeys and signs in with them. Clients with an odd number also remove them, which ends other sessions. */
const usesPasskeys: Client = async (world, number) => {
  const { ledger, isOver } = world;
  const email = memberOf('usesPasskeys', number);
  const held: HeldPasskey[] = [];
  ledger.passkeys.set(email, held);
  while (!isOver()) {
    const session = await logIn(world, email);
    if (!session) continue;
    if (number % 2 === 1) await removePasskey(world, session.headers, held);
    if (held.length < maxPasskeys) await addPasskey(world, session.headers, held);
    for (const passkey of held) {
      await signIn(world, passkey);
      await sleep(pauseMs);
    }
  }
};

async function addPasskey(world: World, headers: Record<string, string>, held: HeldPasskey[]): Promise<void> {
  const { asking, ledger } = world;
  const options = await asking.requestUntilFinal('POST', '/users/me/passkeys/options', {}, headers);
  if (!expect(world, 'requesting options for a passkey', options, 200)) return;
  const { challenge, user, rp } = options.body.data;
  const authenticator = createAuthenticator({ origin: passkeyOrigin, rpId: rp.id, counts: true });
  const name = `Passkey ${ledger.challenges.length}`;
  const body = { credential: authenticator.create({ challenge, user }), name };
  const add = () => asking.requestUntilFinal('POST', '/users/me/passkeys', body, headers);
  const added = await add();
  let id = added.body?.data?.id;
  if (added.isInDoubt && added.status === 400) {
    // A challenge works once. An earlier attempt has succeeded without a response.
    const list = await asking.requestUntilFinal('GET', '/users/me/passkeys', undefined, headers);
    id = list.body?.data?.find((passkey: { name: string }) => passkey.name === name)?.id;
    if (id === undefined) ledger.wrong.push(`${name} was refused, but is not stored: ${JSON.stringify(list.body)}`);
  } else expect(world, `adding ${name}`, added, 200);
  if (id === undefined) return;
  ledger.challenges.push(challenge);
  held.push({ id, authenticator, counter: 1 });
  expect(world, 'adding a passkey a second time', await add(), 400);
}

async function signIn(world: World, passkey: HeldPasskey): Promise<void> {
  const { asking, ledger } = world;
  const options = await asking.requestUntilFinal('POST', '/auth/passkey/options', {});
  if (!expect(world, 'requesting options to sign in', options, 200)) return;
  const { challenge } = options.body.data;
  const credential = passkey.authenticator.get({ challenge });
  passkey.counter++;
  const send = () => asking.requestUntilFinal('POST', '/auth/passkey', { credential });
  const answer = await send();
  // A challenge works once. An earlier attempt may have succeeded without a response, which the stored counter then shows.
  const isUsed = answer.isInDoubt && answer.status === 401;
  if (!isUsed && !expect(world, 'signing in with a passkey', answer, 200)) return;
  ledger.challenges.push(challenge);
  ledger.usedCredentials.push(credential);
  expect(world, 'signing in with the same challenge', await send(), 401);
}

async function removePasskey(world: World, headers: Record<string, string>, held: HeldPasskey[]): Promise<void> {
  const [passkey] = held;
  if (!passkey) return;
  const removed = await world.asking.requestUntilFinal(
    'DELETE',
    `/users/me/passkeys/${passkey.id}`,
    undefined,
    headers,
  );
  const isGone = removed.isInDoubt && removed.status === 403;
  if (!isGone && !expect(world, 'removing a passkey', removed, 204)) return;
  held.shift();
  world.ledger.removedPasskeys.push(passkey.id);
}

async function logIn(
  world: World,
  email: string,
): Promise<(HeldSession & { headers: { authorization: string } }) | undefined> {
  const password = world.ledger.passwords.get(email) ?? '';
  const answer = await world.asking.requestUntilFinal('POST', '/auth/login', { email, password });
  if (!expect(world, `logging in ${email}`, answer, 200)) return undefined;
  const { access_token: accessToken, refresh_token: refreshToken } = answer.body.data;
  const headers = { authorization: `Bearer ${accessToken}` };
  return { id: String(claimsOf(accessToken).session), email, refreshToken, generation: 0, headers };
}

const kinds = { registers, invites, resets, refreshes, logsIn, usesPasskeys };

export type Crowd = Readonly<Partial<Record<keyof typeof kinds, number>>>;

/** The address of a client whose user exists before the clients start. */
export const memberOf = (kind: keyof typeof kinds, number: number) => `${kind.toLowerCase()}-${number}@example.com`;

/** The users who must exist before the clients start. */
export const membersOf = (crowd: Crowd): string[] =>
  (['resets', 'refreshes', 'logsIn', 'usesPasskeys'] as const).flatMap((kind) =>
    Array.from({ length: crowd[kind] ?? 0 }, (_, number) => memberOf(kind, number)),
  );

/** The initial password of these users. */
export const firstPassword = passwordOf(0);

/** Runs clients of each kind until the test is over. */
export async function runClients(world: World, crowd: Crowd): Promise<void> {
  const all = Object.entries(kinds).flatMap(([kind, client]) =>
    Array.from({ length: crowd[kind as keyof Crowd] ?? 0 }, (_, number) => client(world, number)),
  );
  await Promise.all(all);
}
