import type { Test } from 'tap';

/** Collects the callbacks that are passed to `setInterval` with this interval until the test ends. */
export function gatherWork(t: Test, milliseconds: number): readonly (() => void)[] {
  const gathered: (() => void)[] = [];
  const { setInterval: usual } = globalThis;
  const listening = (work: () => void, interval: number) => {
    if (interval === milliseconds) gathered.push(work);
    return usual(work, interval);
  };
  Object.assign(globalThis, { setInterval: listening });
  t.teardown(() => Object.assign(globalThis, { setInterval: usual }));
  return gathered;
}
