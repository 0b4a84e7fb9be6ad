import type { Executor } from '../../db/client.js';
import {
  checkEmailCode,
  findEmailCodeByToken,
  type LinkHolder,
  useEmailCode,
} from '../../db/queries/step-up/email-codes.js';
import type { Services } from '../platform/plugin.js';
import type { Binding, EmailCodePurpose } from '../tokens/email-codes.js';

/** Proofs that a user can read their mailbox: a code that was typed in, or the token of a link. */
export interface EmailProofs {
  /**
   * Checks a code. The code becomes void after five wrong ones from the browser, app, or session that requested it; the link that was
   * sent with it does not. Wrong codes from anywhere else do not count.
   * @param user null if there is no such user; the work is the same
   * @param bindings what identifies the caller
   * @returns the request that the code belongs to; undefined if the code is wrong
   */
  check(
    user: string | null,
    purpose: EmailCodePurpose,
    code: string,
    bindings: readonly Binding[],
  ): Promise<string | undefined>;
  /** The request that a token belongs to, and its user; undefined if the token is wrong. */
  find(token: string): Promise<{ request: string; redirect: string | null; user: LinkHolder } | undefined>;
  /**
   * Uses up a request. Lock the user's row first.
   * @returns false if the request was used or has become void since the check; the caller must roll back the transaction
   */
  consume(tx: Executor, user: string, request: string): Promise<boolean>;
}

export function createEmailProofs({ db, clock, emailCodes }: Services): EmailProofs {
  return {
    check: (user, purpose, code, bindings) => {
      const bindingHashes = bindings.flatMap(emailCodes.bindingHashes);
      const codeHashes = emailCodes.codeHashes(purpose, user ?? '', code);
      return checkEmailCode(db, { user, purpose, bindingHashes, codeHashes }, clock());
    },
    find: (token) => findEmailCodeByToken(db, emailCodes.tokenHashes(token), clock()),
    consume: (tx, user, request) => useEmailCode(tx, user, request, clock()),
  };
}
