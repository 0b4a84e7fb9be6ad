/** Where the session of a client stands, as far as the client knows. */
export interface HeldSession {
  id: string;
  email: string;
  refreshToken: string;
  /** How often it was refreshed. */
  generation: number;
}

/** What the service has acknowledged, and what must hold from then on. */
export interface Ledger {
  readonly registered: string[];
  readonly verified: string[];
  readonly invited: string[];
  readonly accepted: string[];
  /** How many links to reset a password each has asked for, and used. */
  readonly resets: Map<string, { asked: number; done: number }>;
  /** The password of everybody who has one, as it was set last. */
  readonly passwords: Map<string, string>;
  /** Sessions that nobody goes on with: each must still be where its client has left it. */
  readonly sessions: HeldSession[];
  /** What should not have happened. */
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

/** What was acknowledged, in one line. */
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
