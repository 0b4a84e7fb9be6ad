import tap, { type Test } from 'tap';
import { endProcess } from './process-end.js';

const waiting: (() => unknown)[] = [];
let isListening = false;

/**
 * Runs `work` when the test ends; for the root test, when its file does, which may not be the last one of the process
 * (see `scripts/test-worker.mjs`).
 */
export function atEndOf(t: Test, work: () => unknown): void {
  listenForEnd();
  if (t === tap) waiting.push(work);
  else t.teardown(work);
}

/** For a process that runs several files, and calls `endFile` and `endProcess` itself. */
export function expectSeveralFiles(): void {
  // With a teardown of its own, the root test would end as soon as there is a pause between two files.
  isListening = true;
}

function listenForEnd(): void {
  if (isListening) return;
  isListening = true;
  tap.teardown(async () => {
    // A process whose database is left running would not end.
    await endFile().finally(endProcess);
  });
}

/** Ends what the file that has just come to its end has left running, the latest first: all of it, even when a part fails. */
export async function endFile(): Promise<void> {
  const failures: unknown[] = [];
  for (const work of waiting.splice(0).reverse()) {
    try {
      await work();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
