/** Work on sessions that is under way in this process. */
export interface UnderWay {
  /** Does some work on a session, for others to know of. */
  run<T>(id: string, work: () => Promise<T>): Promise<T>;
  /** Waits for what is under way on a session by now. @returns whether any of it has failed */
  hasFailed(id: string): Promise<boolean>;
}

export function createUnderWay(): UnderWay {
  const bySession = new Map<string, Set<Promise<unknown>>>();

  return {
    run: async (id, work) => {
      const all = bySession.get(id) ?? new Set();
      bySession.set(id, all);
      const own = work();
      all.add(own);
      try {
        return await own;
      } finally {
        all.delete(own);
        if (all.size === 0) bySession.delete(id);
      }
    },

    hasFailed: async (id) => {
      const outcomes = await Promise.allSettled(bySession.get(id) ?? []);
      return outcomes.some(({ status }) => status === 'rejected');
    },
  };
}
