import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { inChunks } from '../../db/chunks.js';
import type { Executor } from '../../db/client.js';
import { insertActivity, type NewActivity } from '../../db/queries/activity/activity.js';
import type { AccountState } from '../../db/queries/mail/recipients.js';
import type { ActivityAction, ActivityCollection, FailureReason, Outcome } from '../../schemas/activity.js';
import type { ErrorCode } from '../../schemas/errors.js';
import type { Clock } from '../platform/clock.js';
import { keyIdOf } from '../platform/key-derivation.js';
import type { Origin } from '../server/caller.js';
import type { RateLimits } from '../server/rate-limits/service.js';

/**
 * A way to sign in to an account, its recovery codes, or a pending change of its address. Providers are identified by their key or, in
 * texts for users, by their label.
 */
export type SignInMethod = 'password' | 'token' | 'passkey' | 'recovery_codes' | 'email_change' | { provider: string };

/** The sign-in methods that a password reset has removed, and those that still work. */
export interface ResetReport {
  removed: readonly SignInMethod[];
  remaining: readonly SignInMethod[];
}

/** A change to one item. It contains no values, because values must not appear in the audit log. */
export interface ActivityEvent {
  action: ActivityAction;
  collection: ActivityCollection | null;
  /** The key of the item; null for all items, or for an unknown user. */
  item?: string | number | null;
  /** Names of the changed fields. */
  changed?: readonly string[];
  /** Only for listeners; not recorded. */
  aside?: {
    /** The user's account before the change, if the change may affect it. */
    former?: AccountState;
    /** The user whose passkey was added or removed. */
    owner?: string;
    /** The provider at which the user was linked or unlinked. */
    provider?: string;
    /**
     * Whether the user has logged in before, but never from this network, or never with this kind of device. Known once the login has
     * been written.
     */
    isUnfamiliar?: boolean;
    /** The result of a password reset, with providers by their keys. */
    reset?: ResetReport;
  };
}

/** Called for recorded events, in the transaction of the change. */
export type ActivityListener = (tx: Executor, origin: Origin, events: readonly ActivityEvent[]) => Promise<void>;

/** Called for denied requests, including those over the limit, which are not recorded. */
export type RefusalListener = (
  origin: Origin,
  event: ActivityEvent,
  code: ErrorCode | null,
  reason: FailureReason | undefined,
) => Promise<void>;

export interface Activity {
  /**
   * Records events, in the transaction of the change.
   * @param origin null if the service itself causes the change
   */
  record(tx: Executor, origin: Origin | null, events: readonly ActivityEvent[]): Promise<void>;
  /**
   * Like `record`, for a few events whose rows are written by the same statement as the change.
   * @param tx if this is not a transaction, the statement is committed separately from what listeners write
   * @param write returns undefined if nothing was changed
   */
  recordWith<T>(
    tx: Executor,
    origin: Origin | null,
    events: readonly ActivityEvent[],
    write: (rows: readonly NewActivity[]) => Promise<T | undefined>,
  ): Promise<T | undefined>;
  /** Adds a listener for some of the events that users cause. It is not called for events that the service itself causes. */
  onRecord(actions: ReadonlySet<ActivityAction>, listener: ActivityListener): void;
  /** Adds a listener for denied requests. */
  onRefusal(listener: RefusalListener): void;
  /** Adds a listener for every event, including those over the limit. @param listener is called with `success` or the error code */
  onOutcome(listener: (action: ActivityAction, outcome: string) => void): void;
  /**
   * Records a denied request. It changed nothing, so there is no transaction to join. For each address, the number of such rows is
   * limited. The first one over the limit is replaced by a row that says so, and further ones are not recorded.
   * @param code null if the client does not receive an error
   * @param reason why the credentials were not accepted
   */
  recordRefusal(
    origin: Origin,
    event: ActivityEvent,
    code: ErrorCode | null,
    reason?: FailureReason | undefined,
  ): Promise<void>;
}

export function createActivity(deps: {
  db: Executor;
  clock: Clock;
  signatures: Signatures;
  rateLimits: Pick<RateLimits, 'mayRecordRefusal'>;
}): Activity {
  const { db, clock, signatures, rateLimits } = deps;
  const nextId = createIds();
  const listeners: { actions: ReadonlySet<ActivityAction>; listener: ActivityListener }[] = [];
  const refusalListeners: RefusalListener[] = [];
  const counters: ((action: ActivityAction, outcome: string) => void)[] = [];

  const rowOf = (
    origin: Origin | null,
    { action, collection, item = null, changed }: ActivityEvent,
    outcome: Outcome,
    code: ErrorCode | null,
    reason: FailureReason | null = null,
  ) => {
    const timestamp = clock();
    const content = {
      id: nextId(timestamp),
      timestamp,
      action,
      outcome,
      code,
      reason,
      user: origin?.userId ?? null,
      collection,
      item: item === null ? null : String(item),
      ip: origin?.client.ip ?? null,
      userAgent: origin?.client.userAgent ?? null,
      requestId: origin?.client.requestId ?? null,
      changed: changed ? [...changed] : null,
    };
    return { ...content, seal: signatures.sign(contentOf(content)) };
  };

  const rowsOf = (origin: Origin | null, events: readonly ActivityEvent[]) =>
    events.map((event) => rowOf(origin, event, 'success', null));

  const notify = async (tx: Executor, origin: Origin | null, events: readonly ActivityEvent[]) => {
    for (const count of counters) for (const { action } of events) count(action, 'success');
    if (!origin) return;
    for (const { actions, listener } of listeners) {
      const relevant = events.filter(({ action }) => actions.has(action));
      if (relevant.length > 0) await listener(tx, origin, relevant);
    }
  };

  return {
    record: async (tx, origin, events) => {
      // In chunks, because signing thousands of rows takes a while.
      const rows = await inChunks(events, (chunk) => rowsOf(origin, chunk));
      if (rows.length > 0) await insertActivity(tx, rows);
      await notify(tx, origin, events);
    },

    recordWith: async (tx, origin, events, write) => {
      const written = await write(rowsOf(origin, events));
      if (written !== undefined) await notify(tx, origin, events);
      return written;
    },

    onRecord: (actions, listener) => {
      listeners.push({ actions, listener });
    },

    onRefusal: (listener) => {
      refusalListeners.push(listener);
    },

    onOutcome: (count) => {
      counters.push(count);
    },

    recordRefusal: async (origin, event, code, reason) => {
      for (const count of counters) count(event.action, code ?? 'failure');
      for (const listener of refusalListeners) await listener(origin, event, code, reason);
      const decision = await rateLimits.mayRecordRefusal(origin.client.network);
      if (decision === 'no') return;
      const omitted = { action: 'refusals_omitted', collection: null } as const;
      await insertActivity(db, [
        decision === 'yes'
          ? rowOf(origin, event, 'failure', code, reason)
          : rowOf({ ...origin, userId: null }, omitted, 'failure', null),
      ]);
    },
  };
}

/** The number of distinct counter values per millisecond. */
const maxAtOnce = 0x1000;

/**
 * Creates UUIDs of version 7, with a counter after the milliseconds (RFC 9562, 5.7 and 6.2, method 1). Within a process, they sort
 * in the order of creation.
 */
function createIds(): (now: Date) => string {
  let last = 0;
  let counter = 0;

  return (now) => {
    const present = now.getTime();
    if (present > last) {
      last = present;
      counter = 0;
    } else if (++counter === maxAtOnce) {
      last++;
      counter = 0;
    }
    const bytes = randomBytes(16);
    bytes.writeUIntBE(last, 0, 6);
    bytes.writeUInt16BE(0x7000 | counter, 6);
    bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  };
}

/** The result of checking a signature against a text. */
export type SignatureCheck = 'valid' | 'invalid' | 'unknown key';

export interface Signatures {
  /** `<key id>.<HMAC-SHA256>`, in base64url: 52 characters. */
  sign(text: string): string;
  verify(text: string, signature: string): SignatureCheck;
}

/**
 * Signatures prove that the service wrote a text, and that the text has not changed since. They do not encrypt the text.
 * @param keys the first one creates signatures, and all of them verify
 */
export function createSignatures(keys: readonly [current: Buffer, ...previous: Buffer[]]): Signatures {
  const [current] = keys;
  const currentId = keyIdOf(current);
  const byId = new Map(keys.map((key) => [keyIdOf(key), key]));
  const macOf = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();

  return {
    sign: (text) => `${currentId}.${macOf(current, text).toString('base64url')}`,

    verify: (text, signature) => {
      const [id = '', mac = ''] = signature.split('.');
      const key = byId.get(id);
      if (!key) return 'unknown key';
      const [given, expected] = [Buffer.from(mac, 'base64url'), macOf(key, text)];
      return given.length === expected.length && timingSafeEqual(given, expected) ? 'valid' : 'invalid';
    },
  };
}

/** The text that the signature of a row covers, for writing and for verifying. */
export const contentOf = (row: Omit<NewActivity, 'seal'>): string =>
  JSON.stringify([
    'row',
    row.id,
    row.timestamp.toISOString(),
    row.action,
    row.outcome,
    row.code,
    row.user,
    row.collection,
    row.item,
    row.ip,
    row.userAgent,
    row.requestId,
    row.changed,
    // Rows from before this column existed have none.
    ...(row.reason === null ? [] : [row.reason]),
  ]);
