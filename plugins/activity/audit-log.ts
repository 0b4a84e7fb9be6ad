import { randomBytes } from 'node:crypto';
import { inChunks } from '../../db/chunks.js';
import { insertActivity, type NewActivity } from '../../db/queries/activity/activity.js';
import type { FailureReason, Outcome } from '../../schemas/activity.js';
import type { ErrorCode } from '../../schemas/errors.js';
import type { Origin } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import type { ActivityEvent, ActivityListener } from './service.js';
import type { Signatures } from './signatures.js';

/** The first listener: it stores each event, signed, without its details. */
export interface AuditLog extends Required<Pick<ActivityListener, 'onRecord' | 'onRefusal'>> {
  /** The rows for a few events, for a statement that writes them together with the change. */
  rowsOf(origin: Origin | null, events: readonly ActivityEvent[]): readonly NewActivity[];
}

export function createAuditLog({ db, clock, rateLimits }: Services, signatures: Signatures): AuditLog {
  const nextId = createIds();

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
      actor: origin?.credential?.client ?? null,
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

  return {
    rowsOf,

    onRecord: async (tx, origin, events) => {
      // In chunks, because signing thousands of rows takes a while.
      const rows = await inChunks(events, (chunk) => rowsOf(origin, chunk));
      if (rows.length > 0) await insertActivity(tx, rows);
    },

    /**
     * For each address, the number of such rows is limited. The first one over the limit is replaced by a row that says so, and further
     * ones are not stored.
     */
    onRefusal: async (origin, event, code, reason) => {
      const decision = await rateLimits.admitRefusal(origin.client.network);
      if (decision === 'no') return;
      const omitted = { action: 'refusals_omitted', collection: null } as const;
      await insertActivity(db, [
        decision === 'yes'
          ? rowOf(origin, event, 'failure', code, reason)
          : rowOf({ ...origin, userId: null, credential: null }, omitted, 'failure', null),
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

/**
 * The text that the signature of a row covers, for writing and for verifying. Only a row with an actor has a last element for it, so that
 * rows of earlier versions remain valid.
 */
export const contentOf = (row: Omit<NewActivity, 'seal'>): string =>
  JSON.stringify([
    'row',
    row.id,
    row.timestamp.toISOString(),
    row.action,
    row.outcome,
    row.code,
    row.reason,
    row.user,
    row.collection,
    row.item,
    row.ip,
    row.userAgent,
    row.requestId,
    row.changed,
    ...(row.actor === null ? [] : [row.actor]),
  ]);
