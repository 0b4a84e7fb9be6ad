/** The script of a thread that hashes passwords. */
import { workerData } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';
import { performTasks } from '../../platform/thread-pool.js';
import type { HashingParameters, HashingTask } from './service.js';

const parameters = workerData as HashingParameters;

/**
 * The same text can consist of different code points: `é` is one, or `e` and an accent, depending on the keyboard and system. All
 * hashes are of the normalized form.
 */
const normalized = (password: string): string => password.normalize('NFC');

function matches(stored: string, password: string): boolean {
  try {
    return verifySync(stored, password);
  } catch {
    return false;
  }
}

performTasks(({ password, stored }: HashingTask) =>
  stored === undefined
    ? hashSync(normalized(password), parameters)
    : matches(stored, normalized(password)) ||
      // The hash may be older than the normalization.
      (password !== normalized(password) && matches(stored, password)),
);
