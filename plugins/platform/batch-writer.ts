export interface BatchWriter<Entry> {
  /** Returns immediately. The entry is written later. */
  add(key: string, entry: Entry): void;
  /** Writes the waiting entries, and resolves when they are written. */
  stop(): Promise<void>;
}

/**
 * Collects entries and writes them in batches. After a quiet period, an entry is written immediately. Under load, batches are at
 * least `pause` milliseconds apart, so that entries do not cost a statement each.
 * @param write returns the keys of entries that it could not write now, which are tried again
 * @param merge combines a new entry with a waiting entry of the same key
 * @param onFailure called with the error if `write` fails; the entries of that batch are lost
 */
export function createBatchWriter<Entry>({
  write,
  merge,
  pause,
  onFailure,
}: {
  write(entries: ReadonlyMap<string, Entry>): Promise<readonly string[]>;
  merge(waiting: Entry, added: Entry): Entry;
  pause: number;
  onFailure(error: unknown): void;
}): BatchWriter<Entry> {
  let waiting = new Map<string, Entry>();
  let writing: Promise<void> | undefined;
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
    writing = writeAll().finally(() => {
      writing = undefined;
      written = performance.now();
      schedule();
    });
  };

  const schedule = () => {
    if (timer || writing || waiting.size === 0) return;
    timer = setTimeout(begin, Math.max(written + pause - performance.now(), 0)).unref();
  };

  return {
    add: (key, entry) => {
      put(key, entry);
      schedule();
    },
    stop: async () => {
      await writing;
      clearTimeout(timer);
      if (waiting.size > 0) await writeAll();
    },
  };
}
