import { inChunks } from '../../db/chunks.js';
import type { Executor } from '../../db/client.js';
import { insertActivity, type NewActivity } from '../../db/queries/activity/activity.js';
import type { AccountState } from '../../db/queries/mail/recipients.js';
import type { ActivityAction, ActivityCollection, Outcome } from '../../schemas/activity.js';
import type { ErrorCode } from '../../schemas/errors.js';
import type { Clock } from '../platform/clock.js';
import type { Origin } from '../server/client-info.js';
import type { RateLimits } from '../server/rate-limits/service.js';
import type { Seals } from './hmac-signatures.js';
import { contentOf } from './signing-input.js';
import { createIds } from './uuid-v7.js';

/** A way to sign in to an account; a provider by its key or, for people, by its label. */
export type SignInMethod = 'password' | 'token' | 'email_change' | { provider: string };

/** What a password reset has removed, and what can still be used. */
export interface ResetReport {
  removed: readonly SignInMethod[];
  remaining: readonly SignInMethod[];
}

/** What has happened to one item. There is no place in a row for a value: none may get into the audit log. */
export interface ActivityEvent {
  action: ActivityAction;
  collection: ActivityCollection | null;
  /** The key of the item; null: all of them, or nobody known. */
  item?: string | number | null;
  /** Names of the fields that were written. */
  changed?: readonly string[];
  /** For those who are told of it; not written down. */
  aside?: {
    /** The user's account before the change, where that may be another now. */
    former?: AccountState;
    /** Of a user who was linked or unlinked there. */
    provider?: string;
    /** What a password reset has removed, and what can still be used; providers by their keys. */
    reset?: ResetReport;
  };
}

/** Hears of what was done, in the transaction in which it is done. */
export type ActivityListener = (tx: Executor, origin: Origin, events: readonly ActivityEvent[]) => Promise<void>;

export interface Activity {
  /**
   * Writes down what was done, in the transaction in which it is done.
   * @param origin null: the service does it by itself
   */
  record(tx: Executor, origin: Origin | null, events: readonly ActivityEvent[]): Promise<void>;
  /**
   * The same for a few events whose rows are written by the very statement that does what was done.
   * @param tx if it is no transaction, that statement is all there is: what listeners write then stands by itself
   * @param write returns undefined when nothing was done
   */
  recordAlong<T>(
    tx: Executor,
    origin: Origin | null,
    events: readonly ActivityEvent[],
    write: (rows: readonly NewActivity[]) => Promise<T | undefined>,
  ): Promise<T | undefined>;
  /** Has somebody told of all that users do; of what the service does by itself nobody is. */
  onRecord(listener: ActivityListener): void;
  /**
   * Writes down what was refused, and so has changed nothing, by itself. From one address no more than the limit: then only
   * that there is more.
   * @param code null where the client is not told
   */
  refuse(origin: Origin, event: ActivityEvent, code: ErrorCode | null): Promise<void>;
}

export function createActivity(deps: {
  db: Executor;
  clock: Clock;
  seals: Seals;
  rateLimits: Pick<RateLimits, 'mayRecordRefusal'>;
  /** Told of each event, also of those that the limit leaves out. @param outcome `success`, or the code of the error */
  count(action: ActivityAction, outcome: string): void;
}): Activity {
  const { db, clock, seals, rateLimits, count } = deps;
  const nextId = createIds();
  const listeners: ActivityListener[] = [];

  const rowOf = (
    origin: Origin | null,
    { action, collection, item = null, changed }: ActivityEvent,
    outcome: Outcome,
    code: ErrorCode | null,
  ) => {
    const timestamp = clock();
    const content = {
      id: nextId(timestamp),
      timestamp,
      action,
      outcome,
      code,
      user: origin?.userId ?? null,
      collection,
      item: item === null ? null : String(item),
      ip: origin?.client.ip ?? null,
      userAgent: origin?.client.userAgent ?? null,
      requestId: origin?.client.requestId ?? null,
      changed: changed ? [...changed] : null,
    };
    return { ...content, seal: seals.seal(contentOf(content)) };
  };

  const rowsOf = (origin: Origin | null, events: readonly ActivityEvent[]) =>
    events.map((event) => rowOf(origin, event, 'success', null));

  const tell = async (tx: Executor, origin: Origin | null, events: readonly ActivityEvent[]) => {
    for (const { action } of events) count(action, 'success');
    if (origin) for (const listener of listeners) await listener(tx, origin, events);
  };

  return {
    record: async (tx, origin, events) => {
      // In chunks, because sealing thousands of rows takes a while.
      const rows = await inChunks(events, (chunk) => rowsOf(origin, chunk));
      if (rows.length > 0) await insertActivity(tx, rows);
      await tell(tx, origin, events);
    },

    recordAlong: async (tx, origin, events, write) => {
      const written = await write(rowsOf(origin, events));
      if (written !== undefined) await tell(tx, origin, events);
      return written;
    },

    onRecord: (listener) => {
      listeners.push(listener);
    },

    refuse: async (origin, event, code) => {
      count(event.action, code ?? 'failure');
      const may = await rateLimits.mayRecordRefusal(origin.client.network);
      if (may === 'no') return;
      const omitted = { action: 'refusals_omitted', collection: null } as const;
      await insertActivity(db, [
        may === 'yes'
          ? rowOf(origin, event, 'failure', code)
          : rowOf({ ...origin, userId: null }, omitted, 'failure', null),
      ]);
    },
  };
}
