/** A session of a client, as far as the client knows. */
export interface HeldSession {
  id: string;
  email: string;
  refreshToken: string;
  /** How often it was refreshed. */
  generation: number;
}

/** What the service has acknowledged, and what must therefore stay true. */
export interface Ledger {
  readonly registered: string[];
  readonly verified: string[];
  readonly invited: string[];
  readonly accepted: string[];
  /** How many password reset links each user has requested, and used. */
  readonly resets: Map<string, { asked: number; done: number }>;
  /** The current password of each user who has one. */
  readonly passwords: Map<string, string>;
  /** Sessions that no client uses any longer: each must still have the generation that its client knows. */
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

/** A summary of what was acknowledged, in one line. */
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
