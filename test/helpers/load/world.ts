import type { Test } from 'tap';
import { createAsking } from './asking.js';
import { type Crowd, firstPassword, membersOf, passkeyOrigin, runClients, type World } from './clients.js';
import { createLedger } from './ledger.js';
import { startLetters } from './letters.js';

const token = 'the-static-token-of-the-administrator';

/** Clients of a service that stops and restarts, and everything that the service has acknowledged to them. */
export interface Load extends Pick<World, 'asking' | 'ledger' | 'letters' | 'authorization'> {
  /** The variables that the service requires. */
  variables: Record<string, string>;
  /** Creates the users that the clients require and starts the clients. */
  begin(): Promise<void>;
  /** Stops the clients. Resolves when each has received the response to its last request. */
  end(): Promise<void>;
}

/**
 * @param origin the current origin of the service
 * @param from the local address of a request, where that matters
 */
export async function createLoad(t: Test, origin: () => string, crowd: Crowd, from?: () => string): Promise<Load> {
  const asking = createAsking(origin, from);
  const letters = await startLetters(t);
  const ledger = createLedger();
  const authorization = { authorization: `Bearer ${token}` };
  let isOver = false;
  let clients: Promise<void> = Promise.resolve();

  const call = async (method: string, path: string, body: object) => {
    const answer = await asking.ask(method, path, body, authorization);
    if (answer.status >= 300 || answer.status === 0) throw new Error(`${method} ${path}: ${answer.status}`);
    return answer.body?.data;
  };

  return {
    asking,
    ledger,
    letters,
    authorization,
    variables: {
      ADMIN_TOKEN: token,
      ADMIN_PASSWORD: 'the password of the administrator',
      PASSWORD_HASH_MEMORY: '8192',
      PASSWORD_HASH_TIME: '1',
      REGISTRATION_ANSWER_TIME: '5ms',
      // In a long run, one user logs in hundreds of times, and the test expects all of these sessions.
      SESSIONS_PER_USER: '10000',
      WEBAUTHN_ORIGINS: passkeyOrigin,
      ...letters.variables,
    },
    begin: async () => {
      const { id: role } = await call('POST', '/roles', { name: 'Invited' });
      await call('PATCH', '/settings', { public_registration: true });
      const members = membersOf(crowd);
      const people = members.map((email) => ({ email, password: firstPassword }));
      await call('POST', '/users', people);
      for (const email of members) ledger.passwords.set(email, firstPassword);
      const world = { asking, letters, ledger, authorization, role, isOver: () => isOver };
      clients = runClients(world, crowd);
    },
    end: async () => {
      isOver = true;
      await clients;
    },
  };
}
