export interface Background {
  /** Starts the work, and repeats it until `stop` is called. */
  start(): void;
  /** Resolves when the current run has finished. */
  stop(): Promise<void>;
}

/**
 * Repeats work in the background.
 * @param interval from the end of one run to the start of the next, in milliseconds
 * @param onFailure called for the first of several failures in a row
 */
export function createBackground(
  work: () => Promise<unknown>,
  interval: number,
  onFailure: (error: unknown) => void,
): Background {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let isFailing = false;
  let current: Promise<void> = Promise.resolve();

  const once = async () => {
    try {
      await work();
      isFailing = false;
    } catch (error) {
      if (!isFailing) onFailure(error);
      isFailing = true;
    }
  };

  const next = () => {
    if (isStopped) return;
    timer = setTimeout(() => {
      current = once().finally(next);
    }, interval).unref();
  };

  return {
    start: next,
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await current;
    },
  };
}
