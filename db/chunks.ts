import { setImmediate } from 'node:timers/promises';

/** Number of items processed before other requests get their turn: a few milliseconds of work on either engine. */
const chunkSize = 100;

/**
 * Processes a long list in chunks and lets other requests run in between. The embedded engine runs on the service's own thread,
 * so one statement for thousands of rows would delay every other request.
 */
export async function inChunks<T, R>(
  list: readonly T[],
  work: (chunk: readonly T[]) => Promise<readonly R[]> | readonly R[],
): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < list.length; start += chunkSize) {
    if (start > 0) await setImmediate();
    results.push(...(await work(list.slice(start, start + chunkSize))));
  }
  return results;
}
