/** The program of a thread that hashes passwords, one task at a time, in the order of arrival. */
import { parentPort, workerData } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';
import { lowerThreadPriority } from '../../platform/thread-priority.js';
import type { HashingAnswer, HashingParameters, HashingTask } from './hashing-threads.js';

const parameters = workerData as HashingParameters;

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

lowerThreadPriority();
parentPort?.on('message', (task: HashingTask) => parentPort?.postMessage(answer(task)));
