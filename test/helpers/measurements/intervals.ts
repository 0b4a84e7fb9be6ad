import type { Test } from 'tap';

/**
 * Takes over the work that is scheduled with this delay, in milliseconds, until the test ends. The service schedules its recurring
 * work when it listens.
 * @returns a function that starts the work that has been taken over so far
 */
export function captureTimers(t: Test, milliseconds: number): () => void {
  const gathered: (() => void)[] = [];
  const { setTimeout: usual } = globalThis;
  const listening = (work: () => void, delay: number) => {
    if (delay !== milliseconds) return usual(work, delay);
    gathered.push(work);
    return usual(() => {}, delay);
  };
  Object.assign(globalThis, { setTimeout: listening });
  t.teardown(() => Object.assign(globalThis, { setTimeout: usual }));
  return () => {
    for (const work of gathered.splice(0)) work();
  };
}
