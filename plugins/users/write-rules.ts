import type { Executor } from '../../db/client.js';
import { administratorsAmong } from '../../db/queries/access/administrators.js';
import type { Columns, Key } from '../../db/queries/items/writes.js';
import { findRecipient, readAccountStates, readOwnTexts } from '../../db/queries/mail/recipients.js';
import { leaveProvider, syncPrimaryIdentities } from '../../db/queries/providers/identities.js';
import { deleteRegistrations, deleteSettledRegistrations } from '../../db/queries/registration/registrations.js';
import { deleteUnclaimedUsers } from '../../db/queries/registration/unclaimed-users.js';
import { lockTwoFactorUser } from '../../db/queries/second-factor/two-factor.js';
import { deleteSessionsOf } from '../../db/queries/sessions/sessions.js';
import { deleteEmailChanges } from '../../db/queries/users/email-changes.js';
import { collections } from '../../db/query-language/collections.js';
import { maxEmailLength, readEmail, storedEmail, uuidPattern } from '../../schemas/common.js';
import { ApiError, valueTooLong } from '../../schemas/errors.js';
import { userStatuses } from '../../schemas/users.js';
import { grantsAccountAccess, requireNoAdministrator, requireRightsOverUsers } from '../access/account-rights.js';
import type { Caller, Principal } from '../http/caller.js';
import { sessionIdOf } from '../http/credential.js';
import { invalidPayload, type SpecialFields } from '../items/payload.js';
import { checkUnique } from '../items/reference-checks.js';
import type { Change, WriteRules } from '../items/write-engine.js';
import type { Services } from '../platform/plugin.js';
import { isHttpsUrl } from '../platform/urls.js';
import { hashToken } from '../tokens/refresh-tokens.js';

const maxPasswordLength = 1024;
/** Placeholder until `prepare` computes the hash. No password matches it. */
const notHashed = '-';
/** How many passwords a caller who is not an administrator can set in one request: each one must be hashed. */
const maxPasswordsForNonAdmins = 10;
/** Minimum length of a static token, in characters. It must not be possible to guess one. */
const minTokenLength = 32;
const concealed = '**********';

const refuse = (field: string, type: string, more: { valid?: unknown } = {}) =>
  new ApiError('FAILED_VALIDATION', { field, path: [], type, ...more });

/** @throws {ApiError} FAILED_VALIDATION for an address that must not be stored */
function requireAddress(email: unknown): void {
  const read = typeof email === 'string' ? readEmail(email) : undefined;
  if (read !== undefined && 'fault' in read) throw refuse('email', 'email').saying(`email: ${read.fault}`);
}

/** @param shown the value in the error @throws {ApiError} VALUE_TOO_LONG */
function requireLength(field: string, value: string | null, length: number, shown: unknown = value): void {
  if (value !== null && value.length > length) throw valueTooLong('users', field, shown, `${length} characters`);
}

const special: SpecialFields = {
  email: (value, { columns }) => {
    if (value !== null && typeof value !== 'string') throw invalidPayload('email must be a string');
    requireLength('email', value, maxEmailLength);
    if (value === null) throw refuse('email', 'email');
    // `check` refuses what is not an address, because an address that was stored before the grammar refused it can stay.
    columns.email = storedEmail(value) ?? value;
  },
  status: (value, { columns }) => {
    if (value !== null && typeof value !== 'string') throw invalidPayload('status must be a string');
    if (!userStatuses.some((status) => status === value)) throw refuse('status', 'in', { valid: userStatuses });
    columns.status = value;
  },
  password: (value, { columns }) => {
    if (value !== null && typeof value !== 'string') throw invalidPayload('password must be a string');
    if (value === '') throw refuse('password', 'too_short');
    requireLength('password', value, maxPasswordLength, concealed);
    columns.password = value === null ? null : notHashed;
  },
  token: (value, { columns }) => {
    // The client sends the concealed value back unchanged.
    if (value === concealed) return;
    if (value !== null && typeof value !== 'string') throw invalidPayload('token must be a string');
    if (value !== null && [...value].length < minTokenLength)
      throw refuse('token', 'min_length', { valid: minTokenLength });
    requireLength('token', value, 255, concealed);
    // Other characters cannot be sent in an Authorization header.
    if (value !== null && !/^[\x21-\x7e]+$/.test(value))
      throw invalidPayload('token must consist of printable ASCII characters without spaces');
    columns.token_hash = value === null ? null : hashToken(value);
  },
  avatar: (value, { columns }) => {
    if (value !== null && typeof value !== 'string') throw invalidPayload('avatar must be a UUID or an https URL');
    requireLength('avatar', value, 255);
    columns.avatar = value === null ? null : readAvatar(value);
  },
  tfa_secret: () => {
    throw invalidPayload('tfa_secret can only be changed through the routes for two-factor authentication');
  },
};

/** Returns the id of a file in lower case, or an https URL unchanged. @throws {ApiError} INVALID_PAYLOAD */
function readAvatar(value: string): string {
  if (uuidPattern.test(value)) return value.toLowerCase();
  if (!isHttpsUrl(value)) {
    throw invalidPayload('avatar must be a UUID or an https URL');
  }
  return value;
}

/** The rules specific to writing users. */
export function createUserWriteRules(services: Services): WriteRules {
  const { config, db, passwords, passwordRules, clock, stepUp, ownPassword, signInMethods } = services;
  /** Changes of the caller's own address, which must be confirmed by email. Null: a new address takes effect immediately. */
  const emailChanges = config.EMAIL_CHANGE_CONFIRMATION ? services.emailChanges : null;

  /** Whether the only credential in the changes is the address that the caller already has: clients may send whole items. */
  const keepsOwnAddress = async (caller: Caller, own: readonly Change[]): Promise<boolean> => {
    const onlyAddress = own.every(({ payload: { columns } }) =>
      credentialColumns.every((column) => column === 'email' || columns[column] === undefined),
    );
    if (!onlyAddress) return false;
    const { email } = await ownPassword.read(caller);
    return own.every(({ payload }) => payload.columns.email === email);
  };

  /** Whether the new address takes effect only after it is confirmed by email. */
  const isConfirmed = (
    caller: Caller,
    { keys, input }: { keys: readonly Key[]; input: { email?: unknown } },
  ): boolean =>
    emailChanges !== null &&
    isPrincipal(caller) &&
    !caller.admin &&
    typeof input.email === 'string' &&
    keys.length === 1 &&
    keys[0] === caller.userId;

  /** Users who set their own password can sign in with it, whichever operation they use. */
  const applyOwnPassword = async (tx: Executor, user: string, { input, payload }: Change): Promise<void> => {
    if (typeof input.password !== 'string' || changesIdentity(payload.columns)) return;
    const current = await lockTwoFactorUser(tx, user);
    if (current) signInMethods.requireUnmanaged(current);
    await leaveProvider(tx, user);
  };

  return {
    special,
    // Applications may trust auth_data and last_access.
    adminOnly: new Set(['role', 'policies', 'auth_data', 'last_access']),
    defaults: { status: 'active', provider: 'default', email_notifications: true },
    required: ({ provider = 'default' }, isBatch) =>
      isBatch && provider === 'default' ? ['email', 'password'] : ['email'],
    costly: new Set(['password']),
    affectsAdministrators: new Set(['status', 'role', 'policies']),
    affectsRights: new Set(),
    requireProof: async (caller, changes, currentPassword) => {
      const suspects = changes.filter(({ payload }) => writesCredentials(caller, payload.columns));
      const own = suspects.filter(({ keys }) => keys.some((key) => key === caller.userId));
      if (own.some(setsPasswordOrToken)) signInMethods.requireUnmanaged(await ownPassword.read(caller));
      if (own.length > 0 && !(await keepsOwnAddress(caller, own))) {
        await stepUp.requireProofForOwnRow(caller, currentPassword);
      } else if (currentPassword !== undefined) {
        await ownPassword.require(caller, await ownPassword.read(caller), currentPassword);
      }
      if (!caller.admin || !stepUp.isStale(caller)) return;
      const others = suspects.flatMap(({ keys }) => keys).filter((key) => key !== caller.userId);
      const administrators = others.length === 0 ? new Set() : await administratorsAmong(db, others);
      if (administrators.size > 0) await stepUp.requireFreshAdministrator(caller);
    },
    prepare: async (caller, changes) => {
      const renewed = changes.filter(({ input }) => typeof input.password === 'string');
      const plain = renewed.map(({ input }) => String(input.password));
      const ownTexts = await ownTextsOf(db, renewed);
      const candidates = plain.map((password, index) => ({ password, ownTexts: ownTexts[index] ?? [] }));
      await passwordRules.check(candidates, caller);
      if (caller.client.unit?.isDryRun) return;
      const hashes = await passwords.hashMany(plain, caller);
      renewed.forEach(({ payload }, index) => {
        payload.columns.password = hashes[index];
      });
    },
    check: async (tx, caller, changes, action) => {
      const isOwn = isPrincipal(caller) && changes.some(({ keys }) => keys.some((key) => key === caller.userId));
      if (action === 'update' && isOwn && changes.some(({ payload }) => writesCredentials(caller, payload.columns))) {
        await stepUp.requireStillProved(tx, caller);
      }
      if (!caller.admin) await checkLimits(tx, caller, changes, action, clock());
      for (const { payload } of changes) {
        // Data from one provider says nothing about a user of another provider.
        const { columns } = payload;
        if (action === 'update' && changesIdentity(columns)) columns.auth_data = null;
      }
      // Removed before the check for uniqueness, so that the caller cannot find out whether another user has the address.
      if (action === 'update') {
        for (const change of changes.filter((one) => isConfirmed(caller, one))) {
          const { columns } = change.payload;
          if (columns.email !== (await findRecipient(tx, String(change.keys[0])))?.email) requireAddress(columns.email);
          delete columns.email;
        }
      }
      await checkUnique(tx, collections.users, changes, 'email', 'email', 'any', ({ input }) => input.email);
      for (const { payload } of changes) requireAddress(payload.columns.email);
      await checkUnique(tx, collections.users, changes, 'token', 'token_hash', 'exact', () => concealed);
      for (const { payload } of changes) writeTimes(payload.columns, action, clock());
    },
    makeWay: async (tx, caller, changes) => {
      const emails = changes
        .filter((change) => typeof change.payload.columns.email === 'string' && !isConfirmed(caller, change))
        .map(({ payload }) => String(payload.columns.email));
      const keys = changes.flatMap((change) => change.keys);
      return emails.length === 0 ? [] : deleteUnclaimedUsers(tx, emails, keys.map(String));
    },
    updateAction: ({ payload }) => (payload.columns.password === undefined ? 'update' : 'password_change'),
    details: async (tx, changes) => {
      const keys = changes.filter(({ payload }) => affectsAccess(payload.columns)).flatMap((change) => change.keys);
      const states = keys.length === 0 ? [] : await readAccountStates(tx, keys.map(String));
      return new Map(states.map((former) => [former.id, { former }]));
    },
    after: async (tx, caller, changes, action) => {
      for (const { keys, input } of changes)
        if (action === 'update' && isConfirmed(caller, { keys, input })) {
          await emailChanges?.start(tx, caller as Principal, String(input.email));
        }
      if (action === 'update') await endSessions(tx, caller, changes);
      const withNewEmail = changes
        .filter(({ payload }) => payload.columns.email !== undefined)
        .flatMap(({ keys }) => keys);
      if (action === 'update' && withNewEmail.length > 0) await deleteEmailChanges(tx, withNewEmail.map(String));
      if (action === 'update') await endRegistrations(tx, changes);
      const moved = changes.filter(({ payload }) => changesIdentity(payload.columns)).flatMap(({ keys }) => keys);
      const own = changes.find(({ keys }) => keys.some((key) => key === caller.userId));
      if (action === 'update' && own && caller.userId !== null) await applyOwnPassword(tx, caller.userId, own);
      if (moved.length > 0) await syncPrimaryIdentities(tx, moved, action, clock());
    },
    added: async (caller, updates) => {
      const confirmed = updates.find((update) => isConfirmed(caller, update));
      if (!confirmed || !isPrincipal(caller)) return undefined;
      return { key: caller.userId, fields: { pending_email: await emailChanges?.pendingEmailOf(caller) } };
    },
  };
}

/** Sets the times of creation and of a new token. Clears the time of verification when the address changes. */
function writeTimes(columns: Columns, action: string, now: Date): void {
  if (action === 'create') columns.created_at = now;
  if (columns.token_hash !== undefined) columns.token_set_at = columns.token_hash === null ? null : now;
  if (action === 'update' && columns.email !== undefined) columns.email_verified_at = null;
}

/** Columns with the credentials that a user signs in with. */
const credentialColumns = ['password', 'email', 'token_hash', 'provider', 'external_identifier'];

/** Whether a change writes credentials. If the caller is not an administrator, `checkLimits` rejects provider columns. */
const writesCredentials = ({ admin }: Caller, columns: Columns) =>
  credentialColumns.some((column) => columns[column] !== undefined && (admin || !changesIdentity({ [column]: true })));

const setsPasswordOrToken = ({ payload: { columns } }: Change): boolean =>
  (columns.password ?? null) !== null || (columns.token_hash ?? null) !== null;

const isPrincipal = (caller: Caller): caller is Principal => caller.userId !== null;

/** Whether the change sets which account at a provider logs the user in. */
const changesIdentity = ({ provider, external_identifier }: Record<string, unknown>) =>
  provider !== undefined || external_identifier !== undefined;

/** Whether the change affects the user's identity or access. Notices about such a change may depend on the earlier state. */
const affectsAccess = (columns: Record<string, unknown>) =>
  columns.email !== undefined || columns.status !== undefined || changesIdentity(columns);

/** Rejects changes that only administrators may make, whatever permissions the caller has. */
async function checkLimits(
  tx: Executor,
  caller: Caller,
  changes: readonly Change[],
  action: string,
  now: Date,
): Promise<void> {
  for (const { keys, input } of changes) {
    const fields = new Set(Object.keys(input));
    if (fields.has('provider') || fields.has('external_identifier')) {
      throw invalidPayload('Only an administrator can write provider and external_identifier');
    }
    const isOwn = action === 'update' && keys.every((key) => key === caller.userId);
    if (fields.has('token') && !isOwn)
      throw new ApiError('FORBIDDEN', { reason: 'Only an administrator can write the token of another user' });
  }
  const renewed = changes.filter(({ input }) => typeof input.password === 'string');
  const count = renewed.reduce((sum, change) => sum + Math.max(1, change.keys.length), 0);
  if (count > maxPasswordsForNonAdmins)
    throw invalidPayload(`You can set the passwords of at most ${maxPasswordsForNonAdmins} users in one request`);
  const keys = changes.flatMap((change) => change.keys);
  if (keys.length === 0) return;
  await requireNoAdministrator(tx, keys);
  const opened = changes.filter(({ input }) => grantsAccountAccess(input)).flatMap((change) => change.keys);
  await requireRightsOverUsers(tx, caller, new Set(opened.filter((key) => key !== caller.userId)), now);
}

/** How many users' texts are read when one change sets the same password for several users. */
const maxUsersReadPerChange = 20;

/** The texts that belong to the users of each change: those in their rows, and those that the change writes. */
async function ownTextsOf(db: Executor, changes: readonly Change[]): Promise<unknown[][]> {
  const idsOf = ({ keys }: Change) =>
    keys
      .map(String)
      .filter((key) => uuidPattern.test(key))
      .slice(0, maxUsersReadPerChange);
  const ids = changes.flatMap(idsOf);
  const stored = ids.length === 0 ? [] : await readOwnTexts(db, ids);
  const byId = new Map(stored.map(({ id, texts }) => [id, texts]));
  return changes.map((change) => {
    const { email, first_name, last_name } = change.input;
    return [email, first_name, last_name, ...idsOf(change).flatMap((id) => byId.get(id.toLowerCase()) ?? [])];
  });
}

/** Invalidates a user's registration links when the address that they were sent to changes, or when the user is no longer unverified. */
async function endRegistrations(tx: Executor, changes: readonly Change[]): Promise<void> {
  const keysOf = (column: string) =>
    changes.filter(({ payload }) => payload.columns[column] !== undefined).flatMap(({ keys }) => keys.map(String));
  const [readdressed, settled] = [keysOf('email'), keysOf('status')];
  if (readdressed.length > 0) await deleteRegistrations(tx, readdressed);
  if (settled.length > 0) await deleteSettledRegistrations(tx, settled);
}

/**
 * Ends sessions after an update: all if the user is no longer active, or all except the caller's own if the password or address
 * changed.
 */
async function endSessions(tx: Executor, caller: Caller, changes: readonly Change[]): Promise<void> {
  const inactive = changes.filter(
    ({ payload }) => payload.columns.status !== undefined && payload.columns.status !== 'active',
  );
  await deleteSessionsOf(
    tx,
    inactive.flatMap(({ keys }) => keys.map(String)),
    null,
  );
  const renewed = changes.filter(
    ({ payload }) => payload.columns.password !== undefined || payload.columns.email !== undefined,
  );
  await deleteSessionsOf(
    tx,
    renewed.flatMap(({ keys }) => keys.map(String)),
    sessionIdOf(caller),
  );
}
