/** The script of the thread that evaluates passwords. */
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import { performTasks } from '../../platform/thread-pool.js';
import { meetsPolicy } from './policy.js';
import type { Candidate, Evaluation, StrengthTask } from './strength.js';

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

performTasks((task: StrengthTask) => task.candidates.map((candidate) => evaluate(candidate, task)));
