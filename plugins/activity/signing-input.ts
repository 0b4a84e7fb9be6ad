import type { ChainEnds, NewActivity } from '../../db/queries/activity/activity.js';

// The texts under the seals. Writing and verifying must use the same ones.

/** The text for the seal of a row. */
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

/** The text for the link from a row to the previous one. It covers the content of both rows by their seals. */
export const linkOf = (before: string, position: number, seal: string): string =>
  JSON.stringify(['link', before, position, seal]);

/** The text for the seal of the chain's ends. */
export const endsOf = (ends: Omit<ChainEnds, 'seal'>): string =>
  JSON.stringify(['ends', ends.firstPosition, ends.anchorHash, ends.headPosition, ends.headHash]);
