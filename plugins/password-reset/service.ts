import type { Executor } from '../../db/client.js';
import { findRecipient, lockRecipient, type Recipient, resetPassword } from '../../db/queries/recipients.js';
import { deleteSessionsOf } from '../../db/queries/sessions.js';
import { ApiError } from '../../schemas/errors.js';
import type { LinkTokenClaims } from '../../schemas/link-tokens.js';
import type { Activity } from '../activity/service.js';
import type { Client } from '../client.js';
import type { Mail } from '../mail/index.js';
import { isDue, scopeOf, stateOf } from '../mail/recipients.js';
import type { PasswordChecks } from '../password-checks/service.js';
import type { PasswordRules } from '../password-rules/service.js';
import type { Passwords } from '../passwords/service.js';
import type { RateLimits } from '../rate-limits/service.js';
import type { LinkTokens } from '../tokens/link-tokens.js';
import { requireAllowedUrl } from '../urls.js';

export interface PasswordReset {
  /**
   * Has a link sent, if the address is that of an active user with a password of ours (contract 2.6). Nothing that
   * depends on whose address it is happens here, so neither answer nor time can tell: the mail's job is the same for all. When
   * too many were asked for, for this mailbox or from this network, no further one is sent for a while.
   * @param url where the link is to lead
   * @throws {ApiError} INVALID_PAYLOAD when the URL is not allow-listed
   */
  request(email: string, url: string | undefined, client: Client): Promise<void>;
  /**
   * Sets a new password and ends all sessions (contract 2.7). Attempts to guess the old one count no more.
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED; FORBIDDEN when the link is used or void; FAILED_VALIDATION
   */
  reset(token: string, password: string, client: Client): Promise<void>;
}

export function createPasswordReset(deps: {
  db: Executor;
  mail: Pick<Mail, 'enqueue'>;
  linkTokens: LinkTokens;
  passwords: Passwords;
  passwordRules: PasswordRules;
  passwordChecks: Pick<PasswordChecks, 'forgive'>;
  rateLimits: Pick<RateLimits, 'mayMail'>;
  activity: Pick<Activity, 'record'>;
  onTooMany(): void;
  defaultUrl: string;
  allowList: readonly string[];
}): PasswordReset {
  const { db, mail, linkTokens, passwords, passwordRules, passwordChecks, rateLimits, activity } = deps;
  const { onTooMany, defaultUrl, allowList } = deps;

  const requireUsable = (claims: LinkTokenClaims, user: Recipient | undefined): Recipient => {
    if (!user || !isDue.reset(user) || !linkTokens.isFor(claims, stateOf(user))) {
      throw new ApiError('FORBIDDEN').concerning(claims.id);
    }
    return user;
  };

  return {
    request: async (email, url, client) => {
      requireAllowedUrl('reset_url', url, allowList);
      if (!(await rateLimits.mayMail(email, client.network))) return onTooMany();
      await db.transaction(async (tx) => {
        await mail.enqueue(tx, { kind: 'reset', email, url: url ?? defaultUrl });
        // Whose address it is, if anybody's, is not looked up here; and what was typed may be no address.
        await activity.record(tx, { userId: null, client }, [
          { action: 'password_reset_request', collection: 'users' },
        ]);
      });
    },

    reset: async (token, password, client) => {
      const claims = linkTokens.read(token, scopeOf.reset);
      // Looked at first, so that a link that is void costs no hashing; what counts is the look under the lock.
      requireUsable(claims, await findRecipient(db, claims.id));
      await passwordRules.check([password]);
      const hash = await passwords.hash(password);
      await db.transaction(async (tx) => {
        const user = requireUsable(claims, await lockRecipient(tx, claims.id));
        await resetPassword(tx, user.id, hash);
        await deleteSessionsOf(tx, [user.id], null);
        await passwordChecks.forgive(tx, user, client);
        const events = [{ action: 'password_reset', collection: 'users', item: user.id } as const];
        await activity.record(tx, { userId: user.id, client }, events);
      });
    },
  };
}
