/** Milliseconds between two reports of the same kind. */
export const summaryInterval = 10_000;

/** Reports events that can occur thousands of times a minute, without hiding everything else in the log. */
export interface Summaries {
  /**
   * Reports an event: the first one of its kind immediately, and later ones together, at most every ten seconds.
   * @param later receives the number of events since the last report
   */
  add(kind: string, first: () => void, later: (count: number) => void): void;
  close(): void;
}

export function createSummaries(): Summaries {
  /** By kind, what has happened since the last report. */
  const open = new Map<string, { count: number; timer: NodeJS.Timeout }>();

  const wait = (kind: string, later: (count: number) => void) => {
    const timer = setTimeout(() => {
      const count = open.get(kind)?.count ?? 0;
      open.delete(kind);
      if (count === 0) return;
      later(count);
      wait(kind, later);
    }, summaryInterval).unref();
    open.set(kind, { count: 0, timer });
  };

  return {
    add: (kind, first, later) => {
      const current = open.get(kind);
      if (current) {
        current.count++;
        return;
      }
      first();
      wait(kind, later);
    },
    close: () => {
      for (const { timer } of open.values()) clearTimeout(timer);
    },
  };
}
