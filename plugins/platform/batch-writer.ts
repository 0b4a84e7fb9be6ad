export interface Together<Entry> {
  /** Returns at once; the writing happens after. */
  add(key: string, entry: Entry): void;
  /** Writes what waits, and comes back when nothing is under way any more. */
  stop(): Promise<void>;
}

/**
 * Writes together what comes one by one: at once when nothing was written for a while, so that it is hardly late, and every
 * `pause` milliseconds under load, so that a statement is not sent for each.
 * @param write returns the keys of those that it could not write now; they are tried again
 * @param merge what is written when there is another entry for a key that waits
 * @param onFailure told of an error of `write`; what was to be written is given up
 */
export function createTogether<Entry>({
  write,
  merge,
  pause,
  onFailure,
}: {
  write(entries: ReadonlyMap<string, Entry>): Promise<readonly string[]>;
  merge(waiting: Entry, added: Entry): Entry;
  pause: number;
  onFailure(error: unknown): void;
}): Together<Entry> {
  let waiting = new Map<string, Entry>();
  let underWay: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let written = Number.NEGATIVE_INFINITY;

  const put = (key: string, entry: Entry) => {
    const before = waiting.get(key);
    waiting.set(key, before === undefined ? entry : merge(before, entry));
  };

  const writeAll = async () => {
    const taken = waiting;
    waiting = new Map();
    try {
      for (const key of await write(taken)) {
        const left = taken.get(key);
        if (left !== undefined) put(key, left);
      }
    } catch (error) {
      onFailure(error);
    }
  };

  const begin = () => {
    timer = undefined;
    underWay = writeAll().finally(() => {
      underWay = undefined;
      written = performance.now();
      schedule();
    });
  };

  const schedule = () => {
    if (timer || underWay || waiting.size === 0) return;
    timer = setTimeout(begin, Math.max(written + pause - performance.now(), 0)).unref();
  };

  return {
    add: (key, entry) => {
      put(key, entry);
      schedule();
    },
    stop: async () => {
      await underWay;
      clearTimeout(timer);
      if (waiting.size > 0) await writeAll();
    },
  };
}
