import tap, { type Test } from 'tap';
import { endProcess } from './process-end.js';

const waiting: (() => unknown)[] = [];
let isListening = false;

/**
 * Runs `work` when the test ends. For the root test, that is when its file ends, even if the process runs further files
 * (see `scripts/test-worker.mjs`).
 */
export function atEndOf(t: Test, work: () => unknown): void {
  listenForEnd();
  if (t === tap) waiting.push(work);
  else t.teardown(work);
}

/** Call this in a process that runs several files and calls `endFile` and `endProcess` itself. */
export function expectSeveralFiles(): void {
  isListening = true;
  tap.teardown = () => {
    throw new Error(
      'Use atEndOf. With a teardown, the root test would end at the first pause, and lose all further tests.',
    );
  };
}

function listenForEnd(): void {
  if (isListening) return;
  isListening = true;
  tap.teardown(async () => {
    // A running database would keep the process alive.
    await endFile().finally(endProcess);
  });
}

/** Runs the teardown of the current file in reverse order. It continues even if a part fails. */
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
