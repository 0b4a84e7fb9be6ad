const waiting: (() => unknown)[] = [];

/** Runs `work` when all tests of this process have ended. */
export function atEndOfProcess(work: () => unknown): void {
  waiting.push(work);
}

/** Releases the resources that the test files of this process share. */
export async function endProcess(): Promise<void> {
  for (const work of waiting.splice(0).reverse()) await work();
}
