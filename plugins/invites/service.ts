import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Executor } from '../../db/client.js';
import { administratorsAmong } from '../../db/queries/access/administrators.js';
import { findPrincipalOfRole } from '../../db/queries/access/principals.js';
import { findLatestActor } from '../../db/queries/activity/activity.js';
import {
  extendInvitations,
  insertInvitees,
  type KnownInvitee,
  lockInvitees,
  writeRoles,
} from '../../db/queries/invites/invitations.js';
import { activate, findRecipient, lockRecipient, type Recipient } from '../../db/queries/mail/recipients.js';
import { transact } from '../../db/statements.js';
import { ApiError } from '../../schemas/errors.js';
import { requireRightsOverPrincipals, requireRightsOverUsers } from '../access/account-rights.js';
import { isUnlimited } from '../access/permissions.js';
import type { Caller, Client } from '../http/caller.js';
import { invalidPayload } from '../items/payload.js';
import { isApplicable, linkStateOf, scopeOf } from '../mail/recipients.js';
import type { Services } from '../platform/plugin.js';
import { requireAllowedUrl } from '../platform/urls.js';
import type { LinkClaims } from '../tokens/link-tokens.js';
import { endUnclaimedUsers } from '../users/end-unclaimed-users.js';

export interface Invitation {
  emails: readonly string[];
  /** Undefined if all addresses belong to users who are already invited. */
  role: string | undefined;
  /** The URL that the link opens. */
  url: string | undefined;
}

export interface Invites {
  /**
   * Creates an invited user for each address that does not belong to a user, and sends an invitation. Users who are already invited
   * get another invitation and, if the caller is an administrator and names a role, the new role. Other users are not affected. On
   * PostgreSQL, either all addresses are invited or none. On the embedded engine, an administrator's invitations are split into parts,
   * and this is true of each part.
   * @param caller may create users with email, role and status, which the route requires
   * @throws {ApiError} FORBIDDEN, INVALID_PAYLOAD, INVALID_FOREIGN_KEY
   */
  invite(caller: Caller, invitation: Invitation): Promise<void>;
  /** Sends a new invitation to the stored address of the user whose link has expired. @throws {ApiError} INVALID_TOKEN, FORBIDDEN */
  sendAgain(token: string, client: Client): Promise<void>;
  /** Returns whose invitation this is, and changes nothing. @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED, FORBIDDEN, INVALID_INVITE */
  inspect(token: string): Promise<{ email: string }>;
  /**
   * Activates an invited user and sets the password.
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED; FORBIDDEN for a token of another kind; INVALID_INVITE when the token was used or is
   *   void; FAILED_VALIDATION
   */
  accept(token: string, password: string, client: Client): Promise<void>;
}

const roleRequired = () =>
  invalidPayload(
    'role is required, unless all addresses belong to users who have been invited and have not accepted yet',
  );

const written = ['email', 'role', 'status'];
/** How often an invitation tries to create the users of its addresses. */
const maxRounds = 3;
/** How many addresses a caller who is not an administrator can invite in one request. */
const maxInvitesForNonAdmins = 100;

export function createInvites({
  config,
  databaseConnection,
  db,
  dbOf,
  clock,
  mail,
  linkTokens,
  passwords,
  passwordRules,
  lockouts,
  requestMail,
  activity,
  stepUp,
}: Services): Invites {
  const { USER_INVITE_URL_ALLOW_LIST: allowList, MAX_BATCH_MUTATION: maxBatch } = config;
  const defaultUrl = `${config.PUBLIC_URL}/account/accept-invite`;
  // How many addresses one transaction invites. The embedded engine has one connection, so a transaction keeps all other requests
  // waiting; on PostgreSQL, one transaction invites all addresses of a request.
  const transactionSize = databaseConnection.engine === 'embedded' ? 50 : Number.POSITIVE_INFINITY;

  const times = () => {
    const now = clock();
    return { now, expiresAt: new Date(now.getTime() + config.USER_INVITE_TOKEN_TTL) };
  };

  /**
   * Finds users who are already invited. A caller who does not have all the rights of such a user must not send another link to the
   * account. An administrator who invites another one must have proved their identity recently.
   */
  const findPending = async (tx: Executor, caller: Caller, emails: readonly string[]) => {
    const found = await lockInvitees(tx, emails);
    const pending = found.filter(({ status }) => status === 'invited');
    const keys = pending.map(({ id }) => id);
    if (!caller.admin) await requireRightsOverUsers(tx, caller, new Set(keys), clock());
    const opensAdministrator = stepUp.isStale(caller) && (await administratorsAmong(tx, keys)).size > 0;
    if (opensAdministrator) await stepUp.requireFreshAdministrator(caller, tx);
    return { known: new Set(found.map(({ address }) => address)), pending };
  };

  /** Invites some addresses in one transaction. The number of statements does not depend on the number of addresses. */
  const inviteAll = async (tx: Executor, caller: Caller, emails: readonly string[], { role, url }: Invitation) => {
    const { abandoned } = caller.client;
    // Stop if the client no longer waits for the response.
    abandoned.throwIfAborted();
    const created: string[] = [];
    const repeated: KnownInvitee[] = [];
    let remaining = emails;
    // In the second round, only addresses remain for which another request has created a user in the meantime.
    for (let round = 1; round <= maxRounds && remaining.length > 0; round++) {
      await endUnclaimedUsers(tx, activity, caller, remaining);
      const { known, pending } = await findPending(tx, caller, remaining);
      if (role === undefined && pending.length < remaining.length) throw roleRequired();
      repeated.push(...pending);
      const missing = remaining
        .filter((email) => !known.has(email.toLowerCase()))
        .map((email) => ({ id: randomUUID(), email }));
      const inserted =
        role === undefined || missing.length === 0
          ? new Set<string>()
          : await insertInvitees(tx, missing, role, times());
      created.push(...inserted);
      remaining = missing.filter(({ id }) => !inserted.has(id)).map(({ email }) => email);
    }
    const changesRole = role !== undefined && isUnlimited(caller, 'users', 'update');
    const moved = new Set(changesRole ? repeated.filter((user) => user.role !== role).map(({ id }) => id) : []);
    if (role !== undefined && moved.size > 0) await writeRoles(tx, [...moved], role);
    if (repeated.length > 0)
      await extendInvitations(
        tx,
        repeated.map(({ id }) => id),
        times().expiresAt,
      );
    abandoned.throwIfAborted();
    const invited = [
      ...created.map((id) => ({ id, changed: written })),
      ...repeated.map(({ id }) => ({ id, changed: moved.has(id) ? ['role'] : [] })),
    ];
    await mail.enqueueAll(
      tx,
      invited.map(({ id }) => ({ kind: 'invite', user: id, url: url ?? defaultUrl, invitedBy: caller.userId })),
      'low',
    );
    await activity.record(
      tx,
      caller,
      invited.map(({ id, changed }) => ({ action: 'invite', collection: 'users', item: id, changed })),
    );
  };

  const requireAssignable = async (caller: Caller, role: string) => {
    const holder = await findPrincipalOfRole(db, role);
    if (!holder) throw new ApiError('INVALID_FOREIGN_KEY', { collection: 'users', field: 'role', value: role });
    if (!caller.admin) await requireRightsOverPrincipals(db, caller, [holder], clock());
    const isAdministrator = holder.policies.some((policy) => policy.admin_access);
    if (isAdministrator) await stepUp.requireFreshAdministrator(caller);
  };

  const requireOpen = (claims: LinkClaims, user: Recipient | undefined): Recipient => {
    if (!user || !isApplicable.invite(user) || !linkTokens.matchesState(claims, linkStateOf(user))) {
      throw new ApiError('INVALID_INVITE').concerning(claims.id).because(user ? 'void_link' : 'unknown_user');
    }
    return user;
  };

  return {
    invite: async (caller, invitation) => {
      const { emails, role, url } = invitation;
      requireAllowedUrl('invite_url', url, allowList);
      const limit = caller.admin ? maxBatch : Math.min(maxBatch, maxInvitesForNonAdmins);
      if (emails.length > limit) throw invalidPayload(`You can invite at most ${limit} addresses in one request`);
      if (role !== undefined) await requireAssignable(caller, role);
      // All requests use the same order, so that two requests never wait for each other.
      const distinct = [...new Map(emails.toReversed().map((email) => [email.toLowerCase(), email]))].sort();
      // If rights are compared, all addresses are in one transaction, so that a failed comparison rolls back everything.
      const size = caller.admin ? transactionSize : maxInvitesForNonAdmins;
      if (role === undefined && distinct.length > size) {
        // Checked before the first part, which would otherwise be invited although the request fails.
        const invited = await lockInvitees(
          db,
          distinct.map(([address]) => address),
        );
        if (invited.filter(({ status }) => status === 'invited').length < distinct.length) throw roleRequired();
      }
      for (let start = 0; start < distinct.length; start += size) {
        // The embedded engine runs on this thread, so other requests must be able to run between the parts.
        if (start > 0) await setImmediate();
        const part = distinct.slice(start, start + size).map(([, email]) => email);
        await transact(dbOf(caller), (tx) => inviteAll(tx, caller, part, invitation));
      }
    },

    sendAgain: async (token, client) => {
      const claims = linkTokens.readExpired(token, scopeOf.invite);
      const user = await findRecipient(db, claims.id);
      if (!user?.email || !isApplicable.invite(user)) return;
      await requestMail(user.email, client, (origin) =>
        db.transaction(async (tx) => {
          const invitedBy = await findLatestActor(tx, user.id, 'invite');
          await extendInvitations(tx, [user.id], times().expiresAt);
          await mail.enqueue(tx, { ...origin, kind: 'invite', user: user.id, url: defaultUrl, invitedBy });
          const events = [{ action: 'invite', collection: 'users', item: user.id, changed: [] } as const];
          await activity.record(tx, { userId: null, client }, events);
        }),
      );
    },

    inspect: async (token) => {
      const claims = linkTokens.read(token, scopeOf.invite);
      const { email } = requireOpen(claims, await findRecipient(db, claims.id));
      return { email: email ?? '' };
    },

    accept: async (token, password, client) => {
      const claims = linkTokens.read(token, scopeOf.invite);
      const { email, firstName, lastName } = requireOpen(claims, await findRecipient(db, claims.id));
      const from = { userId: claims.id, client };
      await passwordRules.check([{ password, ownTexts: [email, firstName, lastName] }], from);
      const hash = await passwords.hash(password, from);
      await dbOf(from).transaction(async (tx) => {
        const user = requireOpen(claims, await lockRecipient(tx, claims.id));
        await activate(tx, user.id, hash, clock());
        await lockouts.clearAttempts(tx, user, client);
        const events = [{ action: 'invite_accept', collection: 'users', item: user.id } as const];
        await activity.record(tx, { userId: user.id, client }, events);
      });
    },
  };
}
