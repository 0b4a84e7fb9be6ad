/** What a thread does that hashes passwords: one task after the other, as they come. */
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';
import type { HashingAnswer, HashingParameters, HashingTask } from './hashing-threads.js';

const parameters = workerData as HashingParameters;

/** The niceness of this thread: others get about nine tenths of a processor that both want. */
const niceness = 10;

/**
 * Lets everything else go first where processors are short: whoever wants a quick answer, and a database beside us, would wait
 * behind what takes a processor as long as it likes. Where nobody else wants a processor nothing gets slower. Linux only: there
 * each thread has a priority (setpriority(2)).
 */
function giveWay(): void {
  try {
    // This link leads to the thread that reads it.
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), niceness);
  } catch {
    // No /proc, or no say in priorities: a sandbox. It works without.
  }
}

function matches(stored: string, password: string): boolean {
  try {
    return verifySync(stored, password);
  } catch {
    return false;
  }
}

function answer({ number, password, stored }: HashingTask): HashingAnswer {
  try {
    return { number, result: stored === undefined ? hashSync(password, parameters) : matches(stored, password) };
  } catch (error) {
    return { number, error };
  }
}

giveWay();
parentPort?.on('message', (task: HashingTask) => parentPort?.postMessage(answer(task)));
