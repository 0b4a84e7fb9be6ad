/** The script of a thread that hashes passwords. */
import { workerData } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';
import { performTasks } from '../../platform/thread-pool.js';
import type { HashingParameters, HashingTask } from './service.js';

const parameters = workerData as HashingParameters;

function matches(stored: string, password: string): boolean {
  try {
    return verifySync(stored, password);
  } catch {
    return false;
  }
}

performTasks(({ password, stored }: HashingTask) =>
  stored === undefined ? hashSync(password, parameters) : matches(stored, password),
);
