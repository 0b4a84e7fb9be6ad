import tap, { type Test } from 'tap';
import { endProcess } from './process-end.js';

const waiting: (() => unknown)[] = [];
let isListening = false;

/**
 * Runs `work` when the test ends; for the root test, when its file ends, which may not be the last one of the process
 * (see `scripts/test-worker.mjs`).
 */
export function atEndOf(t: Test, work: () => unknown): void {
  listenForEnd();
  if (t === tap) waiting.push(work);
  else t.teardown(work);
}

/** For a process that runs several files, and calls `endFile` and `endProcess` itself. */
export function expectSeveralFiles(): void {
  // If the root test had a teardown, it would end at the first pause between two files.
  isListening = true;
}

function listenForEnd(): void {
  if (isListening) return;
  isListening = true;
  tap.teardown(async () => {
    // A process with a running database would not end.
    await endFile().finally(endProcess);
  });
}

/** Ends what the current file has left running, latest first, even if a part of it fails. */
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
