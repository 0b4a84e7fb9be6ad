import { readPasswordSettings } from '../../../db/queries/settings/settings.js';
import { hashStart } from '../../../schemas/common.js';
import { ApiError } from '../../../schemas/errors.js';
import type { PasswordReason } from '../../../schemas/password-check.js';
import type { Services } from '../../platform/plugin.js';
import type { TaskOrigin } from '../../rate-limits/admission-queue.js';
import type { BreachCheck } from './breaches.js';
import type { Strength } from './strength.js';

export interface NewPassword {
  password: string;
  /** Texts that belong to the user: the email address and names, as far as they are known. Values that are not strings are ignored. */
  ownTexts: readonly unknown[];
}

/** The rules for new passwords, for every operation that sets one. */
export interface PasswordRules {
  /**
   * Rejects passwords that violate the rules.
   * @throws {ApiError} INVALID_PAYLOAD for a hash; FAILED_VALIDATION for the field `password`; SERVICE_UNAVAILABLE
   */
  check(passwords: readonly NewPassword[], from: TaskOrigin): Promise<void>;
  /**
   * The reasons why a password would be rejected; empty if it would be accepted.
   * @throws {ApiError} INVALID_PAYLOAD for a hash; SERVICE_UNAVAILABLE
   */
  reasonsAgainst(password: NewPassword, from?: TaskOrigin): Promise<PasswordReason[]>;
}

/** What evaluates passwords: it has its own thread, and its own requests to the service for breached passwords. */
export interface Evaluator {
  strength: Pick<Strength, 'evaluate'>;
  isBreached: BreachCheck | null;
  /** Characters of a password that are evaluated. */
  maxLength: number;
}

/** Passwords per task. With more, other callers would have to wait for longer. */
const batch = 5;

const hashPattern = new RegExp(`^${hashStart}`);

/**
 * @param setting for operations that set a password
 * @param checking for callers who only want to know whether a password would be accepted; they never delay callers who set one
 */
export function createPasswordRules({ config, db }: Services, setting: Evaluator, checking: Evaluator): PasswordRules {
  const { PASSWORD_MIN_LENGTH: minLength, PASSWORD_REJECT_COMMON: rejectWeak } = config;

  /** The reasons to reject each password, in order. */
  const evaluate = async (
    { strength, isBreached, maxLength }: Evaluator,
    given: readonly NewPassword[],
    from: TaskOrigin | undefined,
  ): Promise<PasswordReason[][]> => {
    // In the form in which it is hashed.
    const passwords = given.map((one) => ({ ...one, password: one.password.normalize('NFC') }));
    if (passwords.some(({ password }) => hashPattern.test(password))) {
      throw new ApiError('INVALID_PAYLOAD', { reason: 'password must be a password, not a hash' });
    }
    const { policy, projectName } = await readPasswordSettings(db);
    const all: PasswordReason[][] = [];
    for (let start = 0; start < passwords.length; start += batch) {
      const some = passwords.slice(start, start + batch);
      const candidates = some.map(({ password, ownTexts }) => ({
        password,
        ownWords: personalWordsOf([...ownTexts, projectName]),
      }));
      const evaluations = await strength.evaluate({ candidates, policy, rejectWeak, maxLength }, from);
      for (const [index, { weakness, meetsPolicy }] of evaluations.entries()) {
        const { password } = some[index] as NewPassword;
        const reasons: PasswordReason[] = [];
        // Counts code points: most emoji are one character, not two.
        if ([...password].length < minLength) reasons.push('too_short');
        if (weakness !== null) reasons.push(weakness);
        if (!meetsPolicy) reasons.push('policy');
        all.push(reasons);
      }
    }
    // The breach check is a request to another service, so it is made only for passwords that meet all other rules.
    if (isBreached === null) return all;
    return Promise.all(
      passwords.map(async ({ password }, index) => {
        const reasons = all[index] ?? [];
        return reasons.length === 0 && (await isBreached(password)) ? ['breached'] : reasons;
      }),
    );
  };

  return {
    check: async (passwords, from) => {
      if (passwords.length === 0) return;
      const [reason] = (await evaluate(setting, passwords, from)).flat();
      if (reason !== undefined) throw refusal(reason, minLength);
    },
    reasonsAgainst: async (password, from) => (await evaluate(checking, [password], from))[0] ?? [],
  };
}

const refusal = (reason: PasswordReason, minLength: number) =>
  new ApiError('FAILED_VALIDATION', {
    field: 'password',
    path: [],
    type: reason === 'policy' ? 'regex' : reason,
    ...(reason === 'too_short' ? { valid: minLength } : {}),
  });

/** More words, or longer ones, would cost time without finding more weak passwords. */
const maxWords = 20;
const maxWordLength = 64;
const minWordLength = 3;

/**
 * The words in texts that belong to a user, such as their email address and names: each whole text, and its parts. The words
 * are unique and in lower case.
 */
function personalWordsOf(texts: readonly unknown[]): string[] {
  const words = texts.flatMap((text) => {
    if (typeof text !== 'string') return [];
    const whole = text.slice(0, maxWordLength).toLowerCase();
    return [whole, ...whole.split(/[^\p{L}\p{N}]+/u)];
  });
  return [...new Set(words.filter((word) => word.length >= minWordLength))].slice(0, maxWords);
}
