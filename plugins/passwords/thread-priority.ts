import { readlink } from 'node:fs/promises';
import { setPriority } from 'node:os';

/** The niceness of these threads: others get about nine tenths of a processor that both want. */
const niceness = 10;
/** Threads of the pool, unless UV_THREADPOOL_SIZE says otherwise. */
const usualThreads = 4;

/**
 * Lets everything else go first where processors are short. Passwords are hashed on the threads of libuv's pool, each for as
 * long as a processor needs for it; whoever wants a quick answer, and a database beside us, would wait behind that. Where
 * nobody else wants a processor nothing gets slower. Linux only: there each thread has a priority (setpriority(2)).
 * @returns how many threads give way: none where the system does not let us
 */
export async function lowerPriorityOfPool(): Promise<number> {
  if (process.platform !== 'linux') return 0;
  const threads = new Set<number>();
  try {
    // This link leads to the thread that reads it, which is one of the pool; until no other has had its turn for a while.
    // On a busy machine some of them may be late.
    for (let withoutNew = 0; withoutNew < (threads.size < usualThreads ? 200 : 10); withoutNew++) {
      const links = await Promise.all(Array.from({ length: 16 }, () => readlink('/proc/thread-self')));
      const before = threads.size;
      for (const link of links) threads.add(Number(link.split('/').at(-1)));
      if (threads.size > before) withoutNew = 0;
    }
    for (const thread of threads) setPriority(thread, niceness);
    return threads.size;
  } catch {
    // No /proc, or no say in priorities: a sandbox. It works without.
    return 0;
  }
}
