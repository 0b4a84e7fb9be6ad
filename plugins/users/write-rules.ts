import { inChunks } from '../../db/chunks.js';
import type { Executor } from '../../db/client.js';
import { followPrimaryIdentities } from '../../db/queries/identities.js';
import { readAccountStates } from '../../db/queries/recipients.js';
import { deleteSessionsOf } from '../../db/queries/sessions.js';
import { type Key, rowsWithValues } from '../../db/queries/writes.js';
import { collections } from '../../db/query-language/collections.js';
import { formats } from '../../schemas/common.js';
import { ApiError } from '../../schemas/errors.js';
import { userStatuses } from '../../schemas/users.js';
import { requireNoAdministrator, requireRightsOver } from '../access/account-rights.js';
import type { Caller } from '../access/service.js';
import type { Clock } from '../clock.js';
import { invalidPayload, type Payload, type SpecialFields } from '../items/payload.js';
import type { Change, WriteRules } from '../items/writes.js';
import type { PasswordRules } from '../password-rules/service.js';
import type { Passwords } from '../passwords/service.js';
import { hashToken } from '../tokens/refresh-tokens.js';

const longestPassword = 1024;
const concealed = '**********';

const refuse = (field: string, type: string, more: { valid?: unknown } = {}) =>
  new ApiError('FAILED_VALIDATION', { field, path: [], type, ...more });

const tooLong = (field: string, value: unknown) =>
  new ApiError('VALUE_TOO_LONG', { collection: 'users', field, value });

const special: SpecialFields = {
  email: (value, { columns }) => {
    if (value !== null && typeof value !== 'string') throw invalidPayload('email takes text');
    if (typeof value === 'string' && value.length > 128) throw tooLong('email', value);
    if (value === null || !formats.email(value)) throw refuse('email', 'email');
    columns.email = value;
  },
  status: (value, { columns }) => {
    if (value !== null && typeof value !== 'string') throw invalidPayload('status takes text');
    if (!userStatuses.some((status) => status === value)) throw refuse('status', 'in', { valid: userStatuses });
    columns.status = value;
  },
  password: (value, { columns }) => {
    if (value !== null && typeof value !== 'string') throw invalidPayload('password takes text');
    if (value === '') throw refuse('password', 'regex');
    if (value !== null && value.length > longestPassword) throw tooLong('password', concealed);
    // Hashed before the transaction begins (see prepare).
    columns.password = value;
  },
  token: (value, { columns }) => {
    // What was read comes back unchanged.
    if (value === concealed) return;
    if (value !== null && (typeof value !== 'string' || value === '')) throw invalidPayload('token takes text');
    if (value !== null && value.length > 255) throw tooLong('token', concealed);
    // Anything else could not be sent in an Authorization header.
    if (value !== null && !/^[\x21-\x7e]+$/.test(value))
      throw invalidPayload('token takes printable ASCII, without spaces');
    columns.token_hash = value === null ? null : hashToken(value);
  },
  tfa_secret: () => {
    throw invalidPayload('tfa_secret is changed by the routes for two-factor authentication');
  },
};

/** What is particular about writing users (contract 2.9, 2.10, 4). */
export function createUserWriteRules(deps: {
  passwords: Passwords;
  passwordRules: PasswordRules;
  clock: Clock;
}): WriteRules {
  const { passwords, passwordRules, clock } = deps;
  return {
    special,
    adminOnly: new Set(['role', 'policies']),
    defaults: { status: 'active', provider: 'default', email_notifications: true },
    required: ({ provider = 'default' }, isBatch) =>
      isBatch && provider === 'default' ? ['email', 'password'] : ['email'],
    carriesAdministrators: new Set(['status', 'role', 'policies']),
    prepare: (payloads) => hashPasswords(passwords, passwordRules, payloads),
    check: async (tx, caller, changes, action) => {
      if (!caller.admin) await checkLimits(tx, caller, changes, action, clock());
      for (const { payload } of changes) {
        // Data of one provider says nothing about a user of another.
        const { columns } = payload;
        if (action === 'update' && movesIdentity(columns)) columns.auth_data = null;
      }
      await checkUnique(tx, changes, 'email', 'email', 'any', ({ input }) => input.email);
      await checkUnique(tx, changes, 'token', 'token_hash', 'exact', () => concealed);
    },
    updateAction: ({ payload }) => (payload.columns.password === undefined ? 'update' : 'password_change'),
    aside: async (tx, changes) => {
      const keys = changes.filter(({ payload }) => movesAccount(payload.columns)).flatMap((change) => change.keys);
      const states = await inChunks(keys, (chunk) => readAccountStates(tx, chunk.map(String)));
      return new Map(states.map((former) => [former.id, { former }]));
    },
    after: async (tx, caller, changes, action) => {
      if (action === 'update') await endSessions(tx, caller, changes);
      const moved = changes.filter(({ payload }) => movesIdentity(payload.columns)).flatMap(({ keys }) => keys);
      await inChunks(moved, async (chunk) => {
        await followPrimaryIdentities(tx, chunk, action, clock());
        return [];
      });
    },
  };
}

/** Whether it is from now on another account at a provider that logs the user in. */
const movesIdentity = ({ provider, external_identifier }: Record<string, unknown>) =>
  provider !== undefined || external_identifier !== undefined;

/** Whether it says who somebody is, or whether they may get in: what they are told may go by how it was before. */
const movesAccount = (columns: Record<string, unknown>) =>
  columns.email !== undefined || columns.status !== undefined || movesIdentity(columns);

/** What only administrators may do, and nobody on their account by another's permission. */
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
      throw invalidPayload('Only an administrator may write provider and external_identifier');
    }
    const isOwn = action === 'update' && keys.every((key) => key === caller.userId);
    if (fields.has('token') && !isOwn)
      throw new ApiError('FORBIDDEN', { reason: 'Only an administrator may write the token of another user' });
  }
  const keys = changes.flatMap((change) => change.keys);
  if (keys.length === 0) return;
  await requireNoAdministrator(tx, keys);
  const opened = changes.filter(({ input }) => opensAccount(input)).flatMap((change) => change.keys);
  await requireRightsOver(tx, caller, new Set(opened.filter((key) => key !== caller.userId)), now);
}

/** Whether a change lets somebody into an account who could not get into it before. */
const opensAccount = ({ password, email, status }: Record<string, unknown>) =>
  password !== undefined || email !== undefined || status === 'active';

async function hashPasswords(
  passwords: Passwords,
  passwordRules: PasswordRules,
  payloads: readonly Payload[],
): Promise<void> {
  const waiting = payloads.filter(({ columns }) => typeof columns.password === 'string');
  const plain = waiting.map(({ columns }) => String(columns.password));
  await passwordRules.check(plain);
  const hashes = await passwords.hashMany(plain);
  waiting.forEach(({ columns }, index) => {
    columns.password = hashes[index];
  });
}

/** A value that must stand once: neither twice in the request, nor in another row. */
async function checkUnique(
  tx: Executor,
  changes: readonly Change[],
  field: string,
  column: string,
  letterCase: 'exact' | 'any',
  shown: (change: Change) => unknown,
): Promise<void> {
  const seen = new Map<string, { change: Change; keys: readonly Key[] }>();
  const twice = (change: Change) =>
    new ApiError('RECORD_NOT_UNIQUE', { collection: 'users', field, value: shown(change) ?? null });
  for (const change of changes) {
    const value = change.payload.columns[column];
    if (typeof value !== 'string') continue;
    const canonical = letterCase === 'any' ? value.toLowerCase() : value;
    if (seen.has(canonical) || change.keys.length > 1) throw twice(change);
    seen.set(canonical, { change, keys: change.keys });
  }
  for (const { id, value, stored } of await rowsWithValues(
    tx,
    collections.users,
    column,
    [...seen.keys()],
    letterCase,
  )) {
    const found = seen.get(value);
    if (!found) continue;
    if (!found.keys.includes(id)) throw twice(found.change);
    // What stands there already is no change, and nothing follows from it.
    const { columns } = found.change.payload;
    if (columns[column] === stored) delete columns[column];
  }
}

/** Which sessions end with an update (contract 2.10): all when the user is no longer active; all but the caller's own on new credentials. */
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
    caller.sessionId,
  );
}
