const waiting: (() => unknown)[] = [];

/** Runs `work` when all tests of this process have ended. */
export function atEndOfProcess(work: () => unknown): void {
  waiting.push(work);
}

/** Releases what the files of this process have used. */
export async function endProcess(): Promise<void> {
  for (const work of waiting.splice(0).reverse()) await work();
}
