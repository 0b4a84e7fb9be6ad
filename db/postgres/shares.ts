/** Runs the work of callers. Each caller can do only a limited number of things at a time. */
export type WithinShare = <T>(caller: string, work: () => Promise<T>) => Promise<T>;

interface Share {
  running: number;
  /** What the caller waits to do, in order. */
  waiting: (() => void)[];
}

/**
 * No caller holds more than a share of the connections, so there are always some left for others. Work beyond the share
 * waits here rather than in the common queue, where others would wait behind it.
 */
export function createShares(most: number): WithinShare {
  const shares = new Map<string, Share>();
  return async (caller, work) => {
    const share = shares.get(caller) ?? { running: 0, waiting: [] };
    shares.set(caller, share);
    if (share.running < most) share.running++;
    else await new Promise<void>((resolve) => share.waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The place is handed to the next in line, so `running` does not change.
      const next = share.waiting.shift();
      if (next) next();
      else if (--share.running === 0) shares.delete(caller);
    }
  };
}
