/** The script of the thread that evaluates passwords. */
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import { performTasks } from '../../platform/thread-pool.js';
import { meetsPolicy } from './policy.js';
import type { Candidate, Evaluation, StrengthTask } from './strength.js';

/**
 * How many ways to read the letters of a password that are written as digits or symbols are tried. With more, a password such as
 * `p4$$w0rd` repeated to 128 characters would take a second; the usual substitutions are among the first.
 */
const l33tMaxSubstitutions = 10;

/** On the scale from 0 to 4. A password with a lower score withstands at most a million guesses. */
const lowestScore = 2;

const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs, l33tMaxSubstitutions });

function weaknessOf({ password: whole, ownWords }: Candidate, maxLength: number): Evaluation['weakness'] {
  const password = whole.slice(0, maxLength);
  if (zxcvbn.check(password, [...ownWords]).score >= lowestScore) return null;
  return zxcvbn.check(password).score < lowestScore ? 'too_common' : 'own_words';
}

const evaluate = (candidate: Candidate, { policy, rejectWeak, maxLength }: StrengthTask): Evaluation => ({
  weakness: rejectWeak ? weaknessOf(candidate, maxLength) : null,
  meetsPolicy: policy === null || meetsPolicy(policy, candidate.password),
});

performTasks((task: StrengthTask) => task.candidates.map((candidate) => evaluate(candidate, task)));
