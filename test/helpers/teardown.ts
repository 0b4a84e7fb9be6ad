import tap, { type Test } from 'tap';

const waiting: (() => unknown)[] = [];

/**
 * Runs `work` when the test ends; for the root test, when its file does, which may not be the last one of the process
 * (see `scripts/test-worker.mjs`).
 */
export function atEndOf(t: Test, work: () => unknown): void {
  if (t !== tap) {
    t.teardown(work);
    return;
  }
  // With a teardown of its own, the root test would end as soon as there is a pause between two files.
  const isOnlyFile = process.env.TEST_QUEUE === undefined;
  if (isOnlyFile && waiting.length === 0) t.teardown(endFile);
  waiting.push(work);
}

/** Ends what the file that has just come to its end has left running, the latest first. */
export async function endFile(): Promise<void> {
  for (const work of waiting.splice(0).reverse()) await work();
}
