import { randomUUID } from 'node:crypto';
import type { Executor } from '../../../db/client.js';
import { brokenConstraint } from '../../../db/failures.js';
import {
  findRecipient,
  findRecipientByEmail,
  lockRecipient,
  type Recipient,
  readAccountStates,
} from '../../../db/queries/mail/recipients.js';
import { deleteSessionsOf } from '../../../db/queries/sessions/sessions.js';
import {
  deleteEmailChange,
  type EmailChange,
  findEmailChange,
  replaceEmailChange,
  writeVerifiedEmail,
} from '../../../db/queries/users/email-changes.js';
import { transact } from '../../../db/statements.js';
import { storedEmail } from '../../../schemas/common.js';
import { ApiError } from '../../../schemas/errors.js';
import type { Client, Principal } from '../../http/caller.js';
import { sessionIdOf } from '../../http/credential.js';
import { cancelStateOf, changeStateOf } from '../../mail/recipients.js';
import type { Services } from '../../platform/plugin.js';
import type { LinkTokens } from '../../tokens/link-tokens.js';
import { endUnclaimedUsers } from '../end-unclaimed-users.js';

/** Changes to the caller's own address. Each must be confirmed with a link in an email to the new address. */
export interface EmailChanges {
  /**
   * Queues a link to the new address and a notice to the old one. The request replaces an earlier one. Nothing here depends on
   * whether another user has the new address, so neither the response nor its timing can reveal it. The service decides which
   * email the new address gets when it sends the email.
   */
  request(caller: Principal, email: string): Promise<void>;
  /** Like `request`, in an existing transaction. */
  start(tx: Executor, caller: Principal, email: string): Promise<void>;
  /**
   * The address that the link confirms. Changes nothing.
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED; FORBIDDEN when the link was used or is void
   */
  inspect(token: string): Promise<{ email: string }>;
  /**
   * Writes the new address and ends all sessions of the user except the one that confirms it.
   * @param principal the user who sends the token; null: nobody is signed in
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED; FORBIDDEN when the link was used or is void, or when another user has the
   *   address by now
   */
  confirm(token: string, principal: Principal | null, client: Client): Promise<void>;
  /** Withdraws the caller's request, if there is one. */
  cancel(caller: Principal): Promise<void>;
  /**
   * Withdraws the pending request of the user who got the notice, even if the request is newer than the notice.
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED; FORBIDDEN when the user's address has changed since then
   */
  cancelByLink(token: string, client: Client): Promise<void>;
  /** The address to be confirmed; null if no change is pending. */
  pendingEmailOf(caller: Principal): Promise<string | null>;
}

export function createEmailChanges({
  config,
  db,
  dbOf,
  clock,
  mail,
  linkTokens,
  stepUp,
  activity,
}: Services): EmailChanges {
  const { EMAIL_VERIFICATION_TOKEN_TTL: lifetime } = config;
  /** The pages that the links open. */
  const urls = {
    confirm: `${config.PUBLIC_URL}/account/confirm-email`,
    cancel: `${config.PUBLIC_URL}/account/cancel-email-change`,
  };

  const eventOf = (action: 'email_change_request' | 'email_change_cancel', item: string) =>
    ({ action, collection: 'users', item }) as const;

  const withdraw = async (tx: Executor, userId: string, origin: { userId: string; client: Client }) => {
    if (await deleteEmailChange(tx, userId))
      await activity.record(tx, origin, [eventOf('email_change_cancel', userId)]);
  };

  const start: EmailChanges['start'] = async (tx, caller, given) => {
    const { userId, client } = caller;
    const email = storedEmail(given) ?? given;
    const user = await lockRecipient(tx, userId);
    if (user?.status !== 'active') throw new ApiError('INVALID_CREDENTIALS');
    await stepUp.requireStillProved(tx, caller);
    if (user.email?.toLowerCase() === email.toLowerCase()) return withdraw(tx, userId, caller);
    const now = clock();
    const change = { user: userId, id: randomUUID(), email, createdAt: now };
    await replaceEmailChange(tx, { ...change, expiresAt: new Date(now.getTime() + lifetime) });
    const common = { user: userId, requestedFrom: client.network };
    await mail.enqueueAll(tx, [
      { ...common, kind: 'email_change', change: change.id, email, url: urls.confirm },
      ...(user.email === null
        ? []
        : [{ ...common, kind: 'email_change_notice', email: user.email, url: urls.cancel } as const]),
    ]);
    await activity.record(tx, caller, [eventOf('email_change_request', userId)]);
  };

  /** Returns the user of a link and their pending request. */
  const requirePendingChange = async (
    tx: Executor,
    claims: ReturnType<LinkTokens['read']>,
    user: Recipient | undefined,
  ): Promise<[Recipient, EmailChange]> => {
    const change = user && (await findEmailChange(tx, user.id));
    const isDue =
      user?.status === 'active' && change && linkTokens.matchesState(claims, changeStateOf(user, change.id));
    if (!isDue) throw new ApiError('FORBIDDEN').concerning(claims.id);
    return [user, change];
  };

  return {
    request: (caller, email) => transact(dbOf(caller), (tx) => start(tx, caller, email)),
    start,

    inspect: async (token) => {
      const claims = linkTokens.read(token, 'email-change');
      const [, { email }] = await requirePendingChange(db, claims, await findRecipient(db, claims.id));
      return { email };
    },

    confirm: async (token, principal, client) => {
      const claims = linkTokens.read(token, 'email-change');
      try {
        await transact(dbOf({ userId: claims.id, client }), async (tx) => {
          const [user, { email }] = await requirePendingChange(tx, claims, await lockRecipient(tx, claims.id));
          await endUnclaimedUsers(tx, activity, { userId: user.id, client }, [email], user.id);
          const owner = await findRecipientByEmail(tx, email);
          if (owner && owner.id !== user.id) throw new ApiError('FORBIDDEN').concerning(user.id);
          const [former] = await readAccountStates(tx, [user.id]);
          await writeVerifiedEmail(tx, user.id, email, clock());
          await deleteEmailChange(tx, user.id);
          await deleteSessionsOf(tx, [user.id], principal?.userId === user.id ? sessionIdOf(principal) : null);
          const details = former && { details: { former } };
          const event = { action: 'email_change', collection: 'users', item: user.id, changed: ['email'] } as const;
          await activity.record(tx, { userId: user.id, client }, [{ ...event, ...details }]);
        });
      } catch (error) {
        // Another user took the address between the check and the write.
        if (brokenConstraint(error)?.kind === 'unique') throw new ApiError('FORBIDDEN').concerning(claims.id);
        throw error;
      }
    },

    cancel: (caller) => transact(db, (tx) => withdraw(tx, caller.userId, caller)),

    cancelByLink: async (token, client) => {
      const claims = linkTokens.read(token, 'email-change-cancel');
      await transact(dbOf({ userId: claims.id, client }), async (tx) => {
        const user = await lockRecipient(tx, claims.id);
        if (!user || !linkTokens.matchesState(claims, cancelStateOf(user))) {
          throw new ApiError('FORBIDDEN').concerning(claims.id);
        }
        await withdraw(tx, user.id, { userId: user.id, client });
      });
    },

    pendingEmailOf: async (caller) => (await findEmailChange(dbOf(caller), caller.userId))?.email ?? null,
  };
}
