/** The program of the thread that evaluates passwords, one task after the other. */
import { parentPort } from 'node:worker_threads';
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import { lowerThreadPriority } from '../../platform/thread-priority.js';
import { meetsPolicy } from './policy.js';
import type { Candidate, Evaluation, StrengthAnswer, StrengthTask } from './strength.js';

/** Its time grows faster than the length: more characters than these are not evaluated. */
const maxLength = 128;

/** Of the scores 0 to 4: a password with a lower score withstands at most a million guesses. */
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
