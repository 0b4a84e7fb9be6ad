import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/** The niceness of a background thread. When both need the same CPU, other threads get about nine tenths of it. */
const niceness = 10;

/**
 * Gives precedence to other threads when all CPUs are busy, so that requests, and a database on the same machine, remain fast.
 * While a CPU is idle, this slows nothing down. It has an effect only on Linux, where each thread has its own priority
 * (setpriority(2)).
 */
export function lowerThreadPriority(): void {
  try {
    // This link resolves to the current thread.
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), niceness);
  } catch {
    // In a sandbox, there may be no /proc, or no permission to change priorities. The priority is only an optimization.
  }
}
