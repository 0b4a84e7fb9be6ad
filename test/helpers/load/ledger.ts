import type { PasskeyCredential } from '../../../schemas/passkeys.js';
import type { Authenticator } from '../users/authenticator.js';

/** A session of a client, as far as the client knows. */
export interface HeldSession {
  id: string;
  email: string;
  refreshToken: string;
  /** The number of refreshes. */
  generation: number;
}

/** A passkey of a client, as far as the client knows. */
export interface HeldPasskey {
  id: string;
  authenticator: Authenticator;
  /** The number of signatures, including the one with which it was added. */
  counter: number;
}

/** Everything that the service has acknowledged and must therefore keep. */
export interface Ledger {
  readonly registered: string[];
  readonly verified: string[];
  readonly invited: string[];
  readonly accepted: string[];
  /** How many password reset links each user has requested (`asked`) and used (`done`). */
  readonly resets: Map<string, { asked: number; done: number }>;
  /** The current passwords, by email address. */
  readonly passwords: Map<string, string>;
  /** Sessions that no client uses any longer. Each must keep the generation that its client knows. */
  readonly sessions: HeldSession[];
  /** The passkeys of each user who has any. */
  readonly passkeys: Map<string, HeldPasskey[]>;
  readonly removedPasskeys: string[];
  /** The challenges of passkeys that have been used. */
  readonly challenges: string[];
  /** The credentials that have been used to sign in. */
  readonly usedCredentials: PasskeyCredential[];
  /** Responses that should not have occurred. */
  readonly wrong: string[];
}

export const createLedger = (): Ledger => ({
  registered: [],
  verified: [],
  invited: [],
  accepted: [],
  resets: new Map(),
  passwords: new Map(),
  sessions: [],
  passkeys: new Map(),
  removedPasskeys: [],
  challenges: [],
  usedCredentials: [],
  wrong: [],
});

/** Summarizes in one line what was acknowledged. */
export function summaryOf(ledger: Ledger): string {
  const done = [...ledger.resets.values()].reduce((sum, { done }) => sum + done, 0);
  const { passkeys, removedPasskeys, usedCredentials } = ledger;
  const added = [...passkeys.values()].flat().length + removedPasskeys.length;
  const refreshes = ledger.sessions.reduce((sum, { generation }) => sum + generation, 0);
  return [
    `${ledger.registered.length} registered (${ledger.verified.length} verified)`,
    `${ledger.invited.length} invited (${ledger.accepted.length} accepted)`,
    `${done} passwords reset`,
    `${ledger.sessions.length} sessions, refreshed ${refreshes} times`,
    `${added} passkeys (${removedPasskeys.length} removed), used ${usedCredentials.length} times`,
  ].join('; ');
}
