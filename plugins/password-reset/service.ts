import type { Executor } from '../../db/client.js';
import { findPrincipalsAmong } from '../../db/queries/access/principals.js';
import {
  findRecipient,
  lockRecipient,
  type Recipient,
  readAccountStates,
  removeTokenSetSince,
  resetPassword,
} from '../../db/queries/mail/recipients.js';
import { deleteIdentitiesSince, listIdentities } from '../../db/queries/providers/identities.js';
import { spendState } from '../../db/queries/providers/spent-states.js';
import { deleteRecoveryCodesSince } from '../../db/queries/second-factor/two-factor.js';
import { deleteSessionsOf } from '../../db/queries/sessions/sessions.js';
import { deleteEmailChange } from '../../db/queries/users/email-changes.js';
import { countPasskeys, deletePasskeysSince } from '../../db/queries/webauthn/passkeys.js';
import { reasonOfStatus } from '../../schemas/activity.js';
import { ApiError } from '../../schemas/errors.js';
import type { ResetReport } from '../activity/service.js';
import type { Client, Origin } from '../http/caller.js';
import { isApplicable, linkStateOf, notMeStateOf, scopeOf } from '../mail/recipients.js';
import type { Services } from '../platform/plugin.js';
import { requireAllowedUrl } from '../platform/urls.js';
import type { LinkClaims } from '../tokens/link-tokens.js';

export interface PasswordReset {
  /**
   * Requests an email with a link, which is sent if the address belongs to an active user with a local password. This method
   * enqueues the same job for every address and does not look up the user, so neither the response nor its time reveals anything.
   * Once too many links have been requested from this network, only users who have logged in from there still get one.
   * @param url where the link leads
   * @param from who requests it, for the audit log
   * @throws {ApiError} INVALID_PAYLOAD if the URL is not allow-listed
   */
  request(email: string, url: string | undefined, from: Origin): Promise<void>;
  /** Sends a new link to the stored address of the user whose link was used or has expired. @throws {ApiError} INVALID_TOKEN, FORBIDDEN */
  sendAgain(token: string, client: Client): Promise<void>;
  /**
   * For the link in a security notice: ends all sessions, withdraws a pending change of address, and requests a link to reset the
   * password, which goes to the stored address.
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED; FORBIDDEN if the link was used, or the user no longer exists
   */
  secureAccount(token: string, client: Client): Promise<void>;
  /** Returns whose link this is, without changing anything. @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED, FORBIDDEN */
  inspect(token: string): Promise<{ email: string }>;
  /**
   * Sets a new password, ends all sessions, and removes credentials that were recently added to the account. Attempts to guess
   * the old password no longer count.
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED; FORBIDDEN if the link was used or is void; FAILED_VALIDATION
   */
  reset(token: string, password: string, client: Client): Promise<void>;
}

export function createPasswordReset({
  config,
  db,
  clock,
  mail,
  linkTokens,
  passwords,
  passwordRules,
  lockouts,
  signInMethods,
  activity,
  requestMail,
}: Services): PasswordReset {
  const { PASSWORD_RESET_URL_ALLOW_LIST: allowList, PASSWORD_RESET_LOOKBACK: lookback } = config;
  const defaultUrl = `${config.PUBLIC_URL}/account/reset-password`;

  const requireUsable = (claims: LinkClaims, user: Recipient | undefined): Recipient => {
    if (!user || !isApplicable.reset(user) || !linkTokens.matchesState(claims, linkStateOf(user))) {
      const isInactive = user !== undefined && user.status !== 'active';
      const reason = !user ? 'unknown_user' : isInactive ? reasonOfStatus(user.status) : 'void_link';
      throw new ApiError('FORBIDDEN').concerning(claims.id).because(reason);
    }
    return user;
  };

  /** Whether `enforce_tfa` applies to a user who has no second factor except passkeys. */
  const needsPasskey = async (tx: Executor, userId: string): Promise<boolean> => {
    const [principal] = await findPrincipalsAmong(tx, [userId]);
    return principal?.has_tfa === false && principal.policies.some((policy) => policy.enforce_tfa);
  };

  /**
   * Removes what an attacker may have added to the account, so that the reset ends their access. Older credentials remain. The last
   * second factor of a user to whom `enforce_tfa` applies remains, too: otherwise, access to the mailbox alone would replace it.
   * @returns the removed credentials, and those that still work
   */
  const removeRecent = async (tx: Executor, user: Recipient): Promise<ResetReport> => {
    const userId = user.id;
    const hadChange = await deleteEmailChange(tx, userId);
    const since = lookback === 0 ? null : new Date(clock().getTime() - lookback);
    const hadToken = since !== null && (await removeTokenSetSince(tx, userId, since));
    const unlinked = since === null ? [] : await deleteIdentitiesSince(tx, userId, since);
    const allowsPasskeys = signInMethods.allowsPasskey(user);
    const keepsFactor = allowsPasskeys && (await needsPasskey(tx, userId));
    const hadPasskeys = since !== null && (await deletePasskeysSince(tx, userId, since, keepsFactor));
    const hadCodes = since !== null && (await deleteRecoveryCodesSince(tx, userId, since));
    const hasPasskeys = allowsPasskeys && (await countPasskeys(tx, userId)) > 0;
    const [state] = await readAccountStates(tx, [userId]);
    const linked = await listIdentities(tx, userId);
    return {
      removed: [
        ...(hadChange ? (['email_change'] as const) : []),
        ...(hadToken ? (['token'] as const) : []),
        ...(hadPasskeys ? (['passkey'] as const) : []),
        ...(hadCodes ? (['recovery_codes'] as const) : []),
        ...unlinked.map((provider) => ({ provider })),
      ],
      remaining: [
        'password',
        ...(state?.hasToken ? (['token'] as const) : []),
        ...(hasPasskeys ? (['passkey'] as const) : []),
        ...linked.map(({ provider }) => ({ provider })),
      ],
    };
  };

  const request: PasswordReset['request'] = async (email, url, from) => {
    requireAllowedUrl('reset_url', url, allowList);
    await requestMail(email, from.client, (origin) =>
      db.transaction(async (tx) => {
        await mail.enqueue(tx, { ...origin, kind: 'reset', email, url: url ?? defaultUrl });
        // The event has no item, because the address is not looked up here. What the caller typed may not even be an address.
        await activity.record(tx, from, [{ action: 'password_reset_request', collection: 'users' }]);
      }),
    );
  };

  return {
    request,

    sendAgain: async (token, client) => {
      const claims = linkTokens.readExpired(token, scopeOf.reset);
      const user = await findRecipient(db, claims.id);
      if (user?.email && isApplicable.reset(user)) await request(user.email, undefined, { userId: null, client });
    },

    secureAccount: async (token, client) => {
      const claims = linkTokens.read(token, 'not-me');
      const id = linkTokens.idOf(token);
      const user = await db.transaction(async (tx) => {
        const user = await lockRecipient(tx, claims.id);
        if (!user || !linkTokens.matchesState(claims, notMeStateOf(user))) {
          throw new ApiError('FORBIDDEN').concerning(claims.id).because('unknown_user');
        }
        // Otherwise, anyone who finds the email later could sign the user out again and again.
        if (!(await spendState(tx, id, claims.expiresAt))) {
          throw new ApiError('FORBIDDEN').concerning(user.id).because('void_link');
        }
        await deleteSessionsOf(tx, [claims.id], null);
        const hadChange = await deleteEmailChange(tx, user.id);
        const common = { collection: 'users', item: user.id } as const;
        await activity.record(tx, { userId: user.id, client }, [
          { action: 'session_end', ...common },
          ...(hadChange ? [{ action: 'email_change_cancel', ...common } as const] : []),
        ]);
        return user;
      });
      if (user.email && isApplicable.reset(user)) await request(user.email, undefined, { userId: null, client });
    },

    inspect: async (token) => {
      const claims = linkTokens.read(token, scopeOf.reset);
      const { email } = requireUsable(claims, await findRecipient(db, claims.id));
      return { email: email ?? '' };
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
        const reset = await removeRecent(tx, user);
        await lockouts.clearAttempts(tx, user, client);
        const events = [{ action: 'password_reset', collection: 'users', item: user.id, details: { reset } } as const];
        await activity.record(tx, { userId: user.id, client }, events);
      });
    },
  };
}
