import type { Executor } from '../../../db/client.js';
import { deleteEmailChange } from '../../../db/queries/auth/email-changes.js';
import { logsInFrom } from '../../../db/queries/auth/known-networks.js';
import { deleteSessionsOf } from '../../../db/queries/auth/sessions.js';
import {
  findRecipient,
  lockRecipient,
  type Recipient,
  readAccountStates,
  removeTokenSetSince,
  resetPassword,
} from '../../../db/queries/mail/recipients.js';
import { deleteIdentitiesSince, listIdentities } from '../../../db/queries/providers/identities.js';
import { ApiError } from '../../../schemas/errors.js';
import type { LinkTokenClaims } from '../../../schemas/link-tokens.js';
import type { Activity, ResetReport } from '../../activity/service.js';
import type { Mail } from '../../mail/index.js';
import { isDue, scopeOf, stateOf } from '../../mail/recipients.js';
import type { Clock } from '../../platform/clock.js';
import { padResponseTime } from '../../platform/response-time-padding.js';
import { requireAllowedUrl } from '../../platform/urls.js';
import type { Client } from '../../server/client-info.js';
import type { RateLimits } from '../../server/rate-limits/service.js';
import type { LinkTokens } from '../../tokens/link-tokens.js';
import type { PasswordChecks } from '../password-checks/service.js';
import type { PasswordRules } from '../password-rules/service.js';
import type { Passwords } from '../passwords/service.js';

export interface PasswordReset {
  /**
   * Requests an email with a link, which is sent if the address belongs to an active user with a local password. This method
   * enqueues the same job for every address and does not look up the user, so neither the response nor its time reveals anything.
   * Once too many links have been requested from this network, only users who have logged in from there still get one.
   * @param url where the link leads
   * @throws {ApiError} INVALID_PAYLOAD if the URL is not allow-listed
   */
  request(email: string, url: string | undefined, client: Client): Promise<void>;
  /**
   * Sets a new password, ends all sessions, and removes credentials that were recently added to the account. Attempts to guess
   * the old password no longer count.
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED; FORBIDDEN if the link was used or is void; FAILED_VALIDATION
   */
  reset(token: string, password: string, client: Client): Promise<void>;
}

export function createPasswordReset(deps: {
  db: Executor;
  clock: Clock;
  mail: Pick<Mail, 'enqueue'>;
  linkTokens: LinkTokens;
  passwords: Passwords;
  passwordRules: PasswordRules;
  passwordChecks: Pick<PasswordChecks, 'forgive'>;
  rateLimits: Pick<RateLimits, 'mayRequestMail'>;
  activity: Pick<Activity, 'record'>;
  onTooMany(): void;
  defaultUrl: string;
  allowList: readonly string[];
  /** Milliseconds. */
  answerAfter: number;
  /** Milliseconds. A reset removes what was added to the account within this time. 0 means that it removes nothing. */
  lookback: number;
}): PasswordReset {
  const { db, clock, mail, linkTokens, passwords, passwordRules, passwordChecks, rateLimits, activity } = deps;
  const { onTooMany, defaultUrl, allowList, answerAfter, lookback } = deps;

  const requireUsable = (claims: LinkTokenClaims, user: Recipient | undefined): Recipient => {
    if (!user || !isDue.reset(user) || !linkTokens.isFor(claims, stateOf(user))) {
      throw new ApiError('FORBIDDEN').concerning(claims.id);
    }
    return user;
  };

  /**
   * Removes what an attacker may have added to the account, so that the reset ends their access. Older credentials remain.
   * @returns the removed credentials, and those that still work
   */
  const removeRecent = async (tx: Executor, userId: string): Promise<ResetReport> => {
    const hadChange = await deleteEmailChange(tx, userId);
    const since = lookback === 0 ? null : new Date(clock().getTime() - lookback);
    const hadToken = since !== null && (await removeTokenSetSince(tx, userId, since));
    const unlinked = since === null ? [] : await deleteIdentitiesSince(tx, userId, since);
    const [state] = await readAccountStates(tx, [userId]);
    const linked = await listIdentities(tx, userId);
    return {
      removed: [
        ...(hadChange ? (['email_change'] as const) : []),
        ...(hadToken ? (['token'] as const) : []),
        ...unlinked.map((provider) => ({ provider })),
      ],
      remaining: [
        'password',
        ...(state?.hasToken ? (['token'] as const) : []),
        ...linked.map(({ provider }) => ({ provider })),
      ],
    };
  };

  return {
    request: async (email, url, client) => {
      requireAllowedUrl('reset_url', url, allowList);
      const enqueue = () =>
        db.transaction(async (tx) => {
          await mail.enqueue(tx, { kind: 'reset', email, url: url ?? defaultUrl, requestedFrom: client.network });
          // The event names no user, because the address is not looked up here. What the caller typed may not even be an address.
          await activity.record(tx, { userId: null, client }, [
            { action: 'password_reset_request', collection: 'users' },
          ]);
        });
      if (await rateLimits.mayRequestMail(client.network)) return enqueue();
      // Only this branch depends on the user, so its response time must be constant.
      await padResponseTime(answerAfter, async () =>
        (await logsInFrom(db, email, client.network)) ? enqueue() : onTooMany(),
      );
    },

    reset: async (token, password, client) => {
      const claims = linkTokens.read(token, scopeOf.reset);
      // A first check, so that a void link costs no hashing. The check that matters is the one under the lock below.
      const { email, firstName, lastName } = requireUsable(claims, await findRecipient(db, claims.id));
      const from = { userId: claims.id, client };
      await passwordRules.check([{ password, ownTexts: [email, firstName, lastName] }], from);
      const hash = await passwords.hash(password, from);
      await db.transaction(async (tx) => {
        const user = requireUsable(claims, await lockRecipient(tx, claims.id));
        await resetPassword(tx, user.id, hash, clock());
        await deleteSessionsOf(tx, [user.id], null);
        const reset = await removeRecent(tx, user.id);
        await passwordChecks.forgive(tx, user, client);
        const events = [{ action: 'password_reset', collection: 'users', item: user.id, aside: { reset } } as const];
        await activity.record(tx, { userId: user.id, client }, events);
      });
    },
  };
}
