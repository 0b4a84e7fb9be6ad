import { setImmediate as endOfTurn } from 'node:timers/promises';

/** Maximum number of keys that one statement reads. */
const maxKeys = 100;

/**
 * Combines the reads that are requested in the same turn of the event loop into one statement. No read joins a statement that has been
 * sent already, so each read sees everything that was committed before it was requested.
 * @param read returns the values of those keys that have one
 */
export function createBatchReader<Value>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): (key: string) => Promise<Value | undefined> {
  /** The batch that accepts further keys. */
  let open: { keys: Set<string>; values: Promise<ReadonlyMap<string, Value>> } | undefined;

  const begin = () => {
    const keys = new Set<string>();
    const send = () => {
      if (open?.keys === keys) open = undefined;
      return read([...keys]);
    };
    return { keys, values: endOfTurn().then(send) };
  };

  return async (key) => {
    open ??= begin();
    const { keys, values } = open;
    keys.add(key);
    if (keys.size >= maxKeys) open = undefined;
    return (await values).get(key);
  };
}
