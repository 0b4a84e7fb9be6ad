import { createThreadPool } from '../../platform/thread-pool.js';
import { createAdmissionQueue, type TaskOrigin } from '../../rate-limits/admission-queue.js';

/** A password to evaluate. */
export interface Candidate {
  password: string;
  /** Words that an attacker who knows the user would try first, in lower case. */
  ownWords: readonly string[];
}

export interface Evaluation {
  weakness: 'too_common' | 'own_words' | null;
  meetsPolicy: boolean;
}

export interface StrengthTask {
  candidates: readonly Candidate[];
  /** A regular expression. */
  policy: string | null;
  /** Whether to check for weak passwords. */
  rejectWeak: boolean;
  /** How many characters of each password to evaluate. Shorter texts cost less. */
  maxLength: number;
}

/**
 * Evaluates passwords on a separate thread. Evaluating a password of 128 characters, or a policy that backtracks, can take a tenth of a
 * second or more, and would block other requests for that time. The thread starts, and loads its dictionaries, with the first password.
 */
export interface Strength {
  /** @throws {ApiError} SERVICE_UNAVAILABLE if too many tasks are waiting */
  evaluate(task: StrengthTask, from: TaskOrigin | undefined): Promise<Evaluation[]>;
  close(): Promise<void>;
}

/** MB. The dictionaries take about 15. */
const resourceLimits = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 96 };

/** @param capacity how many tasks may wait */
export function createStrength(capacity: number): Strength {
  const queue = createAdmissionQueue({ atOnce: 1, capacity });
  const program = new URL('./strength-thread.js', import.meta.url);
  const thread = createThreadPool<StrengthTask, Evaluation[]>(program, { count: 1, resourceLimits });

  return {
    evaluate: (task, from) => queue.push(from, () => thread.run(task)),
    close: thread.close,
  };
}
