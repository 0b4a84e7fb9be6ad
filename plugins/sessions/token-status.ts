/** The status of a token in its session. */
export type TokenStatus =
  /** The session's current token. */
  | 'current'
  /** The token that the current one replaced, within the grace period: equivalent to the current one. */
  | 'replaced'
  /** An older token, within the grace period of the latest replacement: rejected, without further effect. */
  | 'older'
  /** A replaced token, after the grace period: someone has a copy. */
  | 'reused'
  /** Never issued. */
  | 'unknown';

/**
 * A request is within the grace period if it *arrived* within it: time spent waiting for a connection, a lock or the database does not
 * count against the client. No clocks of different machines are compared. When the database reads the row, it measures the age of the
 * replacement by its own clock, which also wrote `replaced_at`. The instance measures how long the request has been waiting, which is
 * at least as long as it had waited when the row was read. So the difference is at most the age of the replacement when the request
 * arrived. Tests that move `app.clock` move `replaced_at` by the same amount; `shift` compensates for this, and is 0 otherwise.
 */
export function tokenStatusOf(
  generation: number,
  session: { generation: number; replaced_ago: number | null },
  { waited, shift, gracePeriod }: { waited: number; shift: number; gracePeriod: number },
): TokenStatus {
  if (generation > session.generation) return 'unknown';
  if (generation === session.generation) return 'current';
  // Negative after the database's clock was set back. The age is then unknown, but only until the clock has caught up.
  const ago = session.replaced_ago === null ? Number.POSITIVE_INFINITY : Math.abs(session.replaced_ago + shift);
  if (ago - waited > gracePeriod) return 'reused';
  return generation === session.generation - 1 ? 'replaced' : 'older';
}
