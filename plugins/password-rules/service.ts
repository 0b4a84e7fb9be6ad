import type { Executor } from '../../db/client.js';
import { readPasswordPolicy } from '../../db/queries/settings.js';
import { ApiError } from '../../schemas/errors.js';
import { meetPolicy } from './policy.js';

export interface PasswordRules {
  /**
   * Refuses what must not become a password, on every route that sets one (contract 2.7, 2.9, 2.12).
   * @throws {ApiError} FAILED_VALIDATION of the field `password`
   */
  check(passwords: readonly string[]): Promise<void>;
}

export interface PasswordRuleOptions {
  db: Executor;
  minLength: number;
  rejectCommon: boolean;
}

/** How many of the most common passwords are refused. */
const commonCount = 10_000;

const refuse = (type: string, valid?: unknown) =>
  new ApiError('FAILED_VALIDATION', { field: 'password', path: [], type, ...(valid === undefined ? {} : { valid }) });

/** The rules for new passwords: long enough, not one that everybody tries first, and what the settings ask for. */
export function createPasswordRules({ db, minLength, rejectCommon }: PasswordRuleOptions): PasswordRules {
  let common: Promise<ReadonlySet<string>> | undefined;
  return {
    check: async (passwords) => {
      if (passwords.length === 0) return;
      // Counted as people count: an emoji is one character, not two.
      if (passwords.some((password) => [...password].length < minLength)) throw refuse('min_length', minLength);
      if (rejectCommon) {
        common ??= loadCommon();
        const known = await common;
        if (passwords.some((password) => known.has(password.toLowerCase()))) throw refuse('common');
      }
      const policy = await readPasswordPolicy(db);
      if (policy !== null && !meetPolicy(policy, passwords)) throw refuse('regex');
    },
  };
}

/** The list is in the order of how common they are. Loaded with the first password that is set, not at start. */
async function loadCommon(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return new Set(dictionary['passwords-common'].slice(0, commonCount));
}
