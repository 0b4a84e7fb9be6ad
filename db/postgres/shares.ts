/** Runs work for callers. Each caller can run only a limited number of tasks at a time. */
export type WithinShare = <T>(caller: string, work: () => Promise<T>) => Promise<T>;

interface Share {
  running: number;
  /** Tasks of the caller that wait for their turn, in order. */
  waiting: (() => void)[];
}

/**
 * Limits each caller to a share of the connections, so that some are always left for others. Work beyond the share waits here
 * rather than in the common queue, where it would delay the work of others.
 *
 * The admission queue in `plugins/` cannot replace this: `db/` does not import it, and it rejects work for which there is no room, while
 * here only the pool decides what has waited for too long.
 */
export function createShares(max: number): WithinShare {
  const shares = new Map<string, Share>();
  return async (caller, work) => {
    const share = shares.get(caller) ?? { running: 0, waiting: [] };
    shares.set(caller, share);
    if (share.running < max) share.running++;
    else await new Promise<void>((resolve) => share.waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The slot passes directly to the next task in line, so `running` does not change.
      const next = share.waiting.shift();
      if (next) next();
      else if (--share.running === 0) shares.delete(caller);
    }
  };
}
