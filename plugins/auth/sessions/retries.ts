/**
 * Remembers, by session, which requests received a 503 and should be retried. The next request for the same session within the
 * grace period is treated as the same request: its arrival time is that of the first one. A client therefore keeps its session
 * through an outage of any length, even if its first request succeeded and only the response was lost.
 */
export interface Retries {
  /** The arrival time of the first request in the series that this one continues; `arrived` if it continues none. */
  arrivalOf(session: string, arrived: number): number;
  /** Records that a request received a 503. @param arrived the result of `arrivalOf` */
  note(session: string, arrived: number): void;
}

/** Entries beyond this number are dropped, oldest first. Only clients with a token of this service can create entries. */
const maxSessions = 10_000;

/** Times are on the clock of `performance.now()`. */
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
