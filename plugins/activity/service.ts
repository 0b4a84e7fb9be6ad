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

/** A way to sign in to an account. Providers are identified by their key or, in texts for users, by their label. */
export type SignInMethod = 'password' | 'token' | 'email_change' | { provider: string };

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
    /** The provider at which the user was linked or unlinked. */
    provider?: string;
    /** The result of a password reset, with providers by their keys. */
    reset?: ResetReport;
  };
}

/** Called for recorded events, in the transaction of the change. */
export type ActivityListener = (tx: Executor, origin: Origin, events: readonly ActivityEvent[]) => Promise<void>;

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
  recordAlong<T>(
    tx: Executor,
    origin: Origin | null,
    events: readonly ActivityEvent[],
    write: (rows: readonly NewActivity[]) => Promise<T | undefined>,
  ): Promise<T | undefined>;
  /** Adds a listener for all events that users cause. It is not called for events that the service itself causes. */
  onRecord(listener: ActivityListener): void;
  /**
   * Records a denied request. It changed nothing, so there is no transaction to join. For each address, the number of such rows is
   * limited. The first one over the limit is replaced by a row that says so, and further ones are not recorded.
   * @param code null if the client does not receive an error
   */
  refuse(origin: Origin, event: ActivityEvent, code: ErrorCode | null): Promise<void>;
}

export function createActivity(deps: {
  db: Executor;
  clock: Clock;
  seals: Seals;
  rateLimits: Pick<RateLimits, 'mayRecordRefusal'>;
  /** Called for each event, including those over the limit. @param outcome `success`, or the error code */
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

  const notify = async (tx: Executor, origin: Origin | null, events: readonly ActivityEvent[]) => {
    for (const { action } of events) count(action, 'success');
    if (origin) for (const listener of listeners) await listener(tx, origin, events);
  };

  return {
    record: async (tx, origin, events) => {
      // In chunks, because sealing thousands of rows takes a while.
      const rows = await inChunks(events, (chunk) => rowsOf(origin, chunk));
      if (rows.length > 0) await insertActivity(tx, rows);
      await notify(tx, origin, events);
    },

    recordAlong: async (tx, origin, events, write) => {
      const written = await write(rowsOf(origin, events));
      if (written !== undefined) await notify(tx, origin, events);
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
