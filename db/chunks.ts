import { setImmediate } from 'node:timers/promises';

/** As many items as are worked on before others get their turn: a few milliseconds' worth, on either engine. */
const chunkSize = 100;

/**
 * Works through a long list chunk by chunk, and lets other requests go on in between: the embedded engine runs on our own
 * thread, so that one statement for thousands of rows would keep everybody waiting.
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
