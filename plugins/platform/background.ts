export interface Background {
  /** Does the work over and over, until it is stopped. */
  start(): void;
  /** Comes back when nothing is under way any more. */
  stop(): Promise<void>;
}

/**
 * Work that is done in the background, at intervals.
 * @param interval from the end of one time to the beginning of the next, in milliseconds
 * @param onFailure told once of a failure, however long it lasts
 */
export function createBackground(
  work: () => Promise<unknown>,
  interval: number,
  onFailure: (error: unknown) => void,
): Background {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let isFailing = false;
  let underWay: Promise<void> = Promise.resolve();

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
      underWay = once().finally(next);
    }, interval).unref();
  };

  return {
    start: next,
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await underWay;
    },
  };
}
