/** A session of a client, as far as the client knows. */
export interface HeldSession {
  id: string;
  email: string;
  refreshToken: string;
  /** The number of refreshes. */
  generation: number;
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
  wrong: [],
});

/** Summarizes in one line what was acknowledged. */
export function summaryOf(ledger: Ledger): string {
  const done = [...ledger.resets.values()].reduce((sum, { done }) => sum + done, 0);
  const refreshes = ledger.sessions.reduce((sum, { generation }) => sum + generation, 0);
  return [
    `${ledger.registered.length} registered (${ledger.verified.length} verified)`,
    `${ledger.invited.length} invited (${ledger.accepted.length} accepted)`,
    `${done} passwords reset`,
    `${ledger.sessions.length} sessions, refreshed ${refreshes} times`,
  ].join('; ');
}
