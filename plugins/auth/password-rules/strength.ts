import { Worker } from 'node:worker_threads';
import { createFairQueue, type From, noRoom } from '../passwords/fair-queue.js';

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
  number: number;
  candidates: readonly Candidate[];
  /** A regular expression. */
  policy: string | null;
  /** Whether to check for weak passwords. */
  rejectWeak: boolean;
}

/** The thread's response to a task. */
export type StrengthAnswer = { number: number } & ({ evaluations: Evaluation[] } | { error: unknown });

/**
 * Evaluates passwords on a separate thread. A password of 128 characters, or a policy that backtracks, takes a fifth of a
 * second, and would block other requests for that time. The thread starts, and loads its dictionaries, with the first password.
 */
export interface Strength {
  /**
   * @param maxWaiting the task is rejected if at least this many tasks are waiting
   * @throws {ApiError} SERVICE_UNAVAILABLE
   */
  evaluate(task: Omit<StrengthTask, 'number'>, from: From | undefined, maxWaiting?: number): Promise<Evaluation[]>;
  close(): Promise<void>;
}

interface Asker {
  resolve(evaluations: Evaluation[]): void;
  reject(error: unknown): void;
}

/** MB. The dictionaries take about 15. */
const resourceLimits = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 96 };

const ended = () => new Error('The thread that evaluates passwords has ended.');

export function createStrength(capacity = 64): Strength {
  const queue = createFairQueue(1, capacity);
  const askers = new Map<number, Asker>();
  let tasks = 0;
  let worker: Worker | undefined;
  let isClosed = false;

  const start = (): Worker => {
    // Like a hashing thread, it gets neither the modules that the process preloads nor its environment, which contains secrets.
    const alone = { execArgv: [], env: {} };
    const thread = new Worker(new URL('./strength-thread.js', import.meta.url), { resourceLimits, ...alone });
    const lose = (error: Error) => {
      if (worker !== thread) return;
      worker = undefined;
      for (const { reject } of askers.values()) reject(error);
      askers.clear();
    };
    return thread
      .on('message', (answer: StrengthAnswer) => {
        const asker = askers.get(answer.number);
        askers.delete(answer.number);
        if (askers.size === 0) thread.unref();
        if ('error' in answer) asker?.reject(answer.error);
        else asker?.resolve(answer.evaluations);
      })
      .on('messageerror', () => void thread.terminate())
      .on('error', lose)
      .on('exit', () => lose(ended()));
  };

  const ask = (task: Omit<StrengthTask, 'number'>): Promise<Evaluation[]> =>
    new Promise((resolve, reject) => {
      if (isClosed) throw ended();
      worker ??= start();
      worker.ref();
      const number = tasks++;
      worker.postMessage({ ...task, number });
      askers.set(number, { resolve, reject });
    });

  return {
    evaluate: async (task, from, maxWaiting = Number.POSITIVE_INFINITY) => {
      if (queue.load().waiting >= maxWaiting) throw noRoom();
      return queue.push(from, () => ask(task));
    },
    close: async () => {
      isClosed = true;
      await worker?.terminate();
    },
  };
}
