/**
 * Requests that were told to come back (503), by session. The next one for the same session within the grace period counts as
 * the same request: it arrived when the first of them did. So a client keeps its session through an outage of any length, even
 * if its first request was done and only the response was lost.
 */
export interface Retries {
  /** When the series of requests began that this one continues; when it arrived, if it continues none. */
  arrivalOf(session: string, arrived: number): number;
  /** Notes that a request was told to come back. @param arrived what `arrivalOf` said */
  note(session: string, arrived: number): void;
}

/** Only clients with a token of ours get here. What is beyond this many is forgotten, the oldest first. */
const maxSessions = 10_000;

/** Times are those of `performance.now()`. */
export function createRetries(gracePeriod: number): Retries {
  const bySession = new Map<string, { arrived: number; until: number }>();
  const isOver = ({ until }: { until: number }) => until < performance.now();

  return {
    arrivalOf: (session, arrived) => {
      const series = bySession.get(session);
      return series && !isOver(series) ? Math.min(series.arrived, arrived) : arrived;
    },

    note: (session, arrived) => {
      bySession.delete(session);
      bySession.set(session, { arrived, until: performance.now() + gracePeriod });
      for (const [oldest, series] of bySession) {
        if (bySession.size <= maxSessions && !isOver(series)) break;
        bySession.delete(oldest);
      }
    },
  };
}
