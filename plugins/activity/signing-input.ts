import type { ChainEnds, NewActivity } from '../../db/queries/activity/activity.js';

/** What is sealed: the one form of it, whoever writes or reads it. */

/** The content of a row, as its seal is over it. */
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
  ]);

/** The link from a row to the one before it; the content of both is in it by their seals. */
export const linkOf = (before: string, position: number, seal: string): string =>
  JSON.stringify(['link', before, position, seal]);

/** The ends of the chain. */
export const endsOf = (ends: Omit<ChainEnds, 'seal'>): string =>
  JSON.stringify(['ends', ends.firstPosition, ends.anchorHash, ends.headPosition, ends.headHash]);
