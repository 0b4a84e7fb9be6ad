/** The program of the thread that evaluates passwords, one task at a time. */
import { parentPort } from 'node:worker_threads';
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import { lowerThreadPriority } from '../../platform/thread-priority.js';
import { meetsPolicy } from './policy.js';
import type { Candidate, Evaluation, StrengthAnswer, StrengthTask } from './strength.js';

/** Characters. The rest of a password is not evaluated, because the time grows faster than the length. */
const maxLength = 128;

/** On the scale from 0 to 4. A password with a lower score withstands at most a million guesses. */
const lowestScore = 2;

const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs, maxLength });

function weaknessOf({ password, ownWords }: Candidate): Evaluation['weakness'] {
  if (zxcvbn.check(password, [...ownWords]).score >= lowestScore) return null;
  return zxcvbn.check(password).score < lowestScore ? 'too_common' : 'own_words';
}

const evaluate = (candidate: Candidate, { policy, rejectWeak }: StrengthTask): Evaluation => ({
  weakness: rejectWeak ? weaknessOf(candidate) : null,
  meetsPolicy: policy === null || meetsPolicy(policy, candidate.password),
});

function answer(task: StrengthTask): StrengthAnswer {
  const { number, candidates } = task;
  try {
    return { number, evaluations: candidates.map((candidate) => evaluate(candidate, task)) };
  } catch (error) {
    return { number, error };
  }
}

lowerThreadPriority();
parentPort?.on('message', (task: StrengthTask) => parentPort?.postMessage(answer(task)));
