import type { Executor } from '../../db/client.js';
import type { NewActivity } from '../../db/queries/activity/activity.js';
import type { AccountState } from '../../db/queries/mail/recipients.js';
import type { ActivityAction, ActivityCollection, FailureReason } from '../../schemas/activity.js';
import type { ErrorCode } from '../../schemas/errors.js';
import type { Origin } from '../http/caller.js';
import type { AuditLog } from './audit-log.js';

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

/** What happened to one item. It contains no values, because values must not appear in the audit log. */
export interface ActivityEvent {
  action: ActivityAction;
  collection: ActivityCollection | null;
  /** The key of the item; null for all items, or for an unknown user. */
  item?: string | number | null;
  /** Names of the changed fields. */
  changed?: readonly string[];
  details?: EventDetails;
}

/** What listeners cannot read from the database, and the audit log does not store. */
export interface EventDetails {
  /** The user's account before the change, if the change may affect it. */
  former?: AccountState;
  /** The user whose passkey was added or removed, or whose account at a provider was linked or unlinked. */
  owner?: string;
  /** The provider of the account that was linked or unlinked. */
  provider?: string;
  /** Whether the user has logged in before, but never from this network, or never with this kind of device. */
  isUnfamiliar?: boolean;
  /** The result of a password reset, with providers by their keys. */
  reset?: ResetReport;
}

/** Is notified of what happens, after the audit log and the listeners that were added before it. */
export interface ActivityListener {
  /** The actions that it is notified of. Default: all. */
  actions?: ReadonlySet<ActivityAction>;
  /**
   * Called in the transaction of the change. If it fails, the change is rolled back.
   * @param origin null if the service itself causes the change
   */
  onRecord?(tx: Executor, origin: Origin | null, events: readonly ActivityEvent[]): Promise<void>;
  /** Called for denied requests, which have no transaction. See {@link Activity.recordRefusal}. */
  onRefusal?(
    origin: Origin,
    event: ActivityEvent,
    code: ErrorCode | null,
    reason: FailureReason | undefined,
  ): Promise<void>;
  /** Whether `onRecord` can be called after a login has been committed, which then requires no transaction. A crash may prevent the call. */
  mayFollowLogin?: boolean;
}

export interface Activity {
  /** Announces what happened to the audit log and the listeners, in the transaction of the change. */
  record(tx: Executor, origin: Origin | null, events: readonly ActivityEvent[]): Promise<void>;
  /**
   * Like `record`, for a login, whose audit row is written by the same statement as its session.
   * @param write gets a transaction if a listener requires one, and returns undefined if nothing was changed
   */
  recordWith<T>(
    executor: Executor,
    origin: Origin,
    event: ActivityEvent,
    write: (
      executor: Executor,
      rows: readonly NewActivity[],
    ) => Promise<{ result: T; details: EventDetails } | undefined>,
  ): Promise<T | undefined>;
  /**
   * Announces that a request was denied. It changed nothing, so there is no transaction to join.
   * @param code null if the client does not receive an error
   * @param reason why the credentials were not accepted
   */
  recordRefusal(
    origin: Origin,
    event: ActivityEvent,
    code: ErrorCode | null,
    reason?: FailureReason | undefined,
  ): Promise<void>;
  /** Adds a listener, while the service starts. */
  addListener(listener: ActivityListener): void;
}

/** The one place where what happened is announced. The audit log is the first listener. */
export function createActivity(auditLog: AuditLog): Activity {
  const listeners: ActivityListener[] = [];
  const concerns = ({ actions }: ActivityListener, action: ActivityAction) => actions?.has(action) ?? true;

  const notify = async (tx: Executor, origin: Origin | null, events: readonly ActivityEvent[]) => {
    for (const listener of listeners) {
      const relevant = events.filter(({ action }) => concerns(listener, action));
      if (relevant.length > 0) await listener.onRecord?.(tx, origin, relevant);
    }
  };

  return {
    record: async (tx, origin, events) => {
      await auditLog.onRecord(tx, origin, events);
      await notify(tx, origin, events);
    },

    recordWith: async (executor, origin, event, write) => {
      const run = async (tx: Executor) => {
        const written = await write(tx, auditLog.rowsOf(origin, [event]));
        if (written) await notify(tx, origin, [{ ...event, details: written.details }]);
        return written?.result;
      };
      const isSeparable = listeners.every((each) => each.mayFollowLogin === true || !concerns(each, event.action));
      return isSeparable ? run(executor) : executor.transaction(run);
    },

    recordRefusal: async (origin, event, code, reason) => {
      await auditLog.onRefusal(origin, event, code, reason);
      for (const listener of listeners) {
        if (concerns(listener, event.action)) await listener.onRefusal?.(origin, event, code, reason);
      }
    },

    addListener: (listener) => {
      listeners.push(listener);
    },
  };
}
