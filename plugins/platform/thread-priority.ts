import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/** The niceness of a background thread: where both need a processor, other threads get about nine tenths of it. */
const niceness = 10;

/**
 * Lets other threads run first where processors are scarce: requests that need a quick response, and a database on the
 * same machine. Where a processor is free, nothing gets slower. Linux only: there each thread has a priority
 * (setpriority(2)).
 */
export function lowerThreadPriority(): void {
  try {
    // This link leads to the thread that reads it.
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), niceness);
  } catch {
    // No /proc, or no permission to change priorities: a sandbox. It works without.
  }
}
