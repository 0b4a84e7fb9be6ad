import { ApiFailure } from '../../../kit/api-failure.js';
import { get, patch, remove } from '../../api/client.js';
import { patiently } from '../../api/patiently.js';
import type { Meta, Schemas } from '../../api/types.js';
import { lacksPassword, requestLink } from '../../components/password-link.js';
import { nameOf } from '../../components/person.js';
import { failureMessage, t } from '../../texts.js';
import { chunkSize, queriesOf, type Selected } from './selection.js';

/** What happens to all selected users. */
export type BulkAction =
  | { kind: 'role'; role: { id: string; name: string } | null }
  | { kind: 'status'; status: 'active' | 'suspended' | 'archived' }
  | { kind: 'delete' };

/** A selected user, as they are before the change. */
export interface Member {
  id: string;
  name: string;
  email: string | undefined;
  /** The value that the action changes. Undefined: the caller may not read it. */
  before: string | null | undefined;
  beforeName: string | undefined;
  /** Whether nothing is known that the user could sign in with. */
  hasNoPassword: boolean;
}

export interface Refused {
  member: Member;
  reason: string;
  requestId?: string | undefined;
}

/** More users than this are not changed at a time, because the browser keeps their names. */
export const maxMembers = 50_000;
/** After this many failures of an action, the users in a failed request are no longer tried one by one. */
export const maxSeparated = 100;

interface Found {
  id: string;
  first_name?: string | null;
  last_name?: string | null;
  email?: string | null;
  status?: string | null;
  role?: { id: string; name?: string } | string | null;
  provider?: string | null;
  has_password?: boolean | null;
}

function memberOf(found: Found, action: BulkAction): Member {
  const { id, email, status, role } = found;
  const roleId = typeof role === 'object' ? (role?.id ?? null) : role;
  const before = { role: roleId, status, delete: undefined }[action.kind];
  return {
    id,
    name: nameOf(found, id),
    email: email ?? undefined,
    before,
    beforeName: action.kind === 'role' && typeof role === 'object' ? (role?.name ?? t('none')) : undefined,
    hasNoPassword: lacksPassword(found),
  };
}

const codesOfOutages = new Set([
  'NETWORK',
  'SERVICE_UNAVAILABLE',
  'INTERNAL_SERVER_ERROR',
  'CANCELED',
  'REQUESTS_EXCEEDED',
]);
const isRefusal = (failure: unknown): failure is ApiFailure =>
  failure instanceof ApiFailure && !codesOfOutages.has(failure.code) && !failure.isSignedOut;

/** Reads the selected users in parts. */
export async function* readMembers(
  selected: Selected,
  action: BulkAction,
  fields: readonly string[],
): AsyncGenerator<Member[]> {
  for (const { query, isPaged } of queriesOf(selected)) {
    let cursor: string | null | undefined;
    do {
      const page = { ...query, fields, sort: 'id', limit: chunkSize, ...(isPaged ? { meta: 'cursor', cursor } : {}) };
      const { data, meta } = (await patiently(() => get('/users', { query: page }))) as { data: unknown; meta?: Meta };
      yield (data as Found[]).map((found) => memberOf(found, action));
      cursor = meta?.next_cursor as string | null | undefined;
    } while (cursor);
  }
}

/** Whether a user already is as the action would make them. */
export const isUnchanged = (action: BulkAction, { before }: Member): boolean =>
  (action.kind === 'status' && before === action.status) ||
  (action.kind === 'role' && before !== undefined && before === (action.role?.id ?? null));

const changesOf = (action: Exclude<BulkAction, { kind: 'delete' }>): Schemas['UserChanges'] =>
  action.kind === 'role' ? { role: action.role?.id ?? null } : { status: action.status };

const send = (action: BulkAction, members: readonly Member[], isDryRun: boolean): Promise<unknown> => {
  const keys = members.map(({ id }) => id);
  const target = { query: { fields: 'id', ...(isDryRun ? { dry_run: true } : {}) } };
  return action.kind === 'delete'
    ? remove('/users', { keys }, isDryRun ? { query: { dry_run: true } } : {})
    : patch('/users', { keys, data: changesOf(action) }, target);
};

/**
 * Performs an action on some users, or tries it without changing anything. The API changes all users of a request or none, so if it
 * refuses, the request is split until it is clear whom the refusal concerns.
 * @param separable how many more refused users are found in this way
 * @returns the users for whom the API refused
 * @throws {ApiFailure} if the service cannot be reached, or has no time
 */
export async function perform(
  action: BulkAction,
  members: readonly Member[],
  { isDryRun, separable }: { isDryRun: boolean; separable: number },
): Promise<Refused[]> {
  if (members.length === 0) return [];
  try {
    await patiently(() => send(action, members, isDryRun));
  } catch (failure) {
    if (!isRefusal(failure)) throw failure;
    if (members.length === 1 || separable <= 0) {
      const { requestId } = failure;
      return members.map((member) => ({ member, reason: failureMessage(failure), requestId }));
    }
    const half = Math.ceil(members.length / 2);
    const refused = await perform(action, members.slice(0, half), { isDryRun, separable });
    const left = separable - refused.length;
    return [...refused, ...(await perform(action, members.slice(half), { isDryRun, separable: left }))];
  }
  return [];
}

export function chunksOf<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / chunkSize) }, (_, index) =>
    list.slice(index * chunkSize, (index + 1) * chunkSize),
  );
}

/** The users that still exist, after a deletion whose outcome is not known. */
export async function remaining(members: readonly Member[]): Promise<Member[]> {
  const query = { filter: { id: { _in: members.map(({ id }) => id) } }, fields: 'id', limit: chunkSize };
  const { data } = await patiently(() => get('/users', { query }));
  const ids = new Set((data as Found[]).map(({ id }) => id));
  return members.filter(({ id }) => ids.has(id));
}

/** Gives users back what they had before. */
export async function undo(action: BulkAction, members: readonly Member[]): Promise<void> {
  const name = action.kind === 'role' ? 'role' : 'status';
  for (const before of new Set(members.map((member) => member.before))) {
    const same = members.filter((member) => member.before === before);
    for (const chunk of chunksOf(same)) {
      const body = { keys: chunk.map(({ id }) => id), data: { [name]: before } as Schemas['UserChanges'] };
      await patiently(() => patch('/users', body, { query: { fields: 'id' } }));
    }
  }
}

/** Sends users a link with which they can set a password, until all have got one or the caller stops it. */
export async function sendLinks(
  members: readonly Member[],
  { onSent, isStopped }: { onSent: () => void; isStopped: () => boolean },
): Promise<void> {
  for (const { email } of members) {
    if (isStopped()) return;
    if (email !== undefined) await patiently(() => requestLink(email));
    onSent();
  }
}
