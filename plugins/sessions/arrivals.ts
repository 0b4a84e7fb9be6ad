/**
 * When a request to refresh a session counts as having arrived.
 *
 * A client whose request returns 503 cannot know whether its token was replaced, so it retries. It must not lose its session,
 * however long the database stalls, and whichever instances its requests reach. This holds for these reasons:
 *
 * 1. A replacement takes effect after the statement has all its locks, and is timed by the database's clock at that moment. If it is
 *    made for a request that has already received a 503, the client's next request is either waiting, or arrives after at most
 *    Retry-After, which is at most half of the grace period. In both cases, it arrives within the grace period.
 * 2. The replacement may also precede the stall, if the response was lost or another tab refreshed the session. The first request
 *    then arrived within the grace period, but its retries arrive later, perhaps on instances that know nothing of it. Each instance
 *    therefore probes the database, with the statement that a refresh needs. Let a stall last from s to e. The last probe before
 *    the stall was sent before s. A request that receives a 503 because of the stall was waiting at some time during the stall, so
 *    it arrived after s - timeoutMs. An instance that counts a retry as having arrived `timeoutMs` before its last successful probe
 *    therefore never counts the retry as later than the first request of the series.
 * 3. The last retry follows a request that was waiting during the stall, so it arrives before e + timeoutMs + Retry-After, and the
 *    instance still remembers the stall.
 *
 * A token that was replaced more than the grace period plus `timeoutMs` before the last successful probe gains nothing from this. All
 * times are on the clock of `performance.now()`, so no clocks of different machines are compared.
 */
export interface Arrivals {
  /** The time at which a request of this session counts as having arrived. Call it after reading the session. */
  effectiveArrival(session: string, arrived: number): number;
  /** Records that a request received a 503. A retry counts as the same request. */
  noteUnavailable(session: string, arrived: number): void;
  /** Checks whether the database responds. Call it every `probeInterval`. */
  probe(): Promise<void>;
}

/** The time limits of a refresh, in milliseconds. */
export function refreshLimits(gracePeriod: number): { timeoutMs: number; retryAfterMs: number; probeInterval: number } {
  const half = gracePeriod / 2;
  const timeoutMs = Math.min(Math.max(half, 1_000), 8_000);
  return { timeoutMs, retryAfterMs: half, probeInterval: timeoutMs / 5 };
}

/** A period during which the database responded to no probe. */
interface Stall {
  from: number;
  until: number;
}

/** Entries beyond this number are dropped, oldest first. Only clients with a token of this service can create entries. */
const maxSessions = 10_000;

/** @param check runs the statement that a refresh needs */
export function createArrivals(gracePeriod: number, check: () => Promise<unknown>): Arrivals {
  const { timeoutMs, probeInterval } = refreshLimits(gracePeriod);
  /** How long after a 503 or a stall a request can be a retry. More than Retry-After, because clients are not exact. */
  const retryWindowMs = gracePeriod + timeoutMs;
  /** By session: when the first request of a series arrived, and until when another request continues the series. */
  const series = new Map<string, { arrived: number; until: number }>();
  let stalls: Stall[] = [];
  /** When the last successful probe was sent. Undefined until the service listens, and on the embedded engine. */
  let responsiveAt: number | undefined;

  /** The stall that has lasted until now, if any: more than one probe has had no response. */
  const currentStall = (): Stall[] => {
    const now = performance.now();
    const isStalled = responsiveAt !== undefined && now - responsiveAt > 2 * probeInterval;
    return isStalled ? [{ from: responsiveAt as number, until: now }] : [];
  };

  const firstArrival = (session: string, arrived: number) => {
    const known = series.get(session);
    return known && arrived <= known.until ? Math.min(known.arrived, arrived) : arrived;
  };

  return {
    effectiveArrival: (session, arrived) => {
      const recent = [...stalls, ...currentStall()].filter(({ until }) => arrived <= until + retryWindowMs);
      return Math.min(firstArrival(session, arrived), ...recent.map(({ from }) => from - timeoutMs));
    },

    noteUnavailable: (session, arrived) => {
      const first = firstArrival(session, arrived);
      const now = performance.now();
      series.delete(session);
      series.set(session, { arrived: first, until: now + retryWindowMs });
      for (const [oldest, { until }] of series) {
        if (series.size <= maxSessions && until >= now) break;
        series.delete(oldest);
      }
    },

    probe: async () => {
      const sent = performance.now();
      await check();
      stalls = [...stalls, ...currentStall()].filter(({ until }) => sent <= until + retryWindowMs + timeoutMs);
      responsiveAt = sent;
    },
  };
}
