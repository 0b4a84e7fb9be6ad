import type { Chain } from './chain.js';

export interface Linker {
  /** Links what has been written, over and over, until it is stopped. */
  start(): void;
  /** Comes back when nothing is under way any more. */
  stop(): Promise<void>;
}

/** Milliseconds. As long as a row can be taken away without a gap to tell of it. */
const interval = 1_000;

/**
 * Links rows in the background.
 * @param onFailure told once of a failure, however long it lasts
 */
export function createLinker(chain: Pick<Chain, 'link'>, onFailure: (error: unknown) => void): Linker {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let isFailing = false;
  let underWay: Promise<void> = Promise.resolve();

  const link = async () => {
    try {
      await chain.link();
      isFailing = false;
    } catch (error) {
      if (!isFailing) onFailure(error);
      isFailing = true;
    }
  };

  const next = () => {
    if (isStopped) return;
    timer = setTimeout(() => {
      underWay = link().finally(next);
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
