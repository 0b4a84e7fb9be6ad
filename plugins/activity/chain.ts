import { setImmediate } from 'node:timers/promises';
import type { Executor } from '../../db/client.js';
import {
  type ChainEnds,
  deleteLinkedUpTo,
  hashAt,
  hasUnlinked,
  insertChainEnds,
  lastPositionBefore,
  lockChainEnds,
  readUnlinked,
  writeChainEnds,
  writeLinks,
} from '../../db/queries/activity/activity.js';
import type { Services } from '../platform/plugin.js';
import type { Signatures } from './signatures.js';

export interface Chain {
  /**
   * Links all rows that are not linked yet, each to the one before it. Only one instance at a time does this. Other instances
   * return immediately.
   * @returns the number of linked rows
   */
  link(): Promise<number>;
  /** Removes older rows from the beginning of the chain. @returns the number of removed rows */
  removeOlderThan(moment: Date): Promise<number>;
}

/** Rows per transaction. Between batches, other requests get their turn. */
const batch = 100;

/** The chain was tampered with, or its key is missing, so the service does not extend it. `audit:verify` reports the details. */
export class BrokenChainError extends Error {
  constructor(what: string) {
    super(`${what}. The service links no further rows until this is resolved. See docs/audit-log.md.`);
    this.name = 'BrokenChainError';
  }
}

/**
 * Links the rows of the audit log into a chain. Writing a row never waits for other writers, because rows are linked later, in the
 * order in which they are found.
 */
export function createChain({ db }: Pick<Services, 'db'>, signatures: Signatures): Chain {
  /** Locks the ends of the chain, and verifies their signature. Returns undefined if another instance has locked them. */
  const takeEnds = async (tx: Executor): Promise<ChainEnds | undefined> => {
    const found = await lockChainEnds(tx);
    if (found === 'busy') return undefined;
    // If this row were created here, a log that was emptied would look like a new one.
    if (found === undefined) throw new BrokenChainError('The row that marks the ends of the audit log is missing');
    const check = signatures.verify(endsOf(found), found.seal);
    if (check === 'invalid') throw new BrokenChainError('The row that marks the ends of the audit log was altered');
    if (check === 'unknown key') {
      throw new BrokenChainError('The audit log was signed with a SECRET that is not in PREVIOUS_SECRETS');
    }
    return found;
  };

  const linkSome = (): Promise<number> =>
    db.transaction(async (tx) => {
      const ends = await takeEnds(tx);
      if (!ends) return 0;
      const unlinked = await readUnlinked(tx, batch);
      if (unlinked.length === 0) return 0;
      let { headPosition, headHash } = ends;
      const links = unlinked.map(({ id, seal }) => {
        headPosition++;
        headHash = signatures.sign(linkOf(headHash, headPosition, seal));
        return { id, position: headPosition, hash: headHash };
      });
      await writeLinks(tx, links);
      const { firstPosition, anchorHash } = ends;
      await writeChainEnds(tx, signedEnds(signatures, { firstPosition, anchorHash, headPosition, headHash }));
      return links.length;
    });

  const removeSome = (moment: Date): Promise<number> =>
    db.transaction(async (tx) => {
      const ends = await takeEnds(tx);
      const last = ends ? await lastPositionBefore(tx, ends, moment) : null;
      if (!ends || last === null) return 0;
      const { firstPosition, headPosition, headHash } = ends;
      const end = Math.min(last, firstPosition + batch - 1);
      const anchorHash = await hashAt(tx, end);
      // A row that should exist is missing. `audit:verify` reports this.
      if (anchorHash === null) return 0;
      await deleteLinkedUpTo(tx, end);
      await writeChainEnds(tx, signedEnds(signatures, { firstPosition: end + 1, anchorHash, headPosition, headHash }));
      return end - firstPosition + 1;
    });

  /** Processes all batches, and lets other requests run in between. */
  const all = async (some: () => Promise<number>): Promise<number> => {
    for (let total = 0; ; ) {
      const count = await some();
      total += count;
      if (count < batch) return total;
      await setImmediate();
    }
  };

  return {
    link: async () => ((await hasUnlinked(db)) ? all(linkSome) : 0),
    removeOlderThan: (moment) => all(() => removeSome(moment)),
  };
}

/**
 * Creates the signed row that marks the ends of the chain. This happens once, together with the first administrator. In a database
 * without this row, the log was therefore removed. Creating the row again requires SECRET.
 * @returns false if the row already exists
 */
export const beginChain = (tx: Executor, signatures: Signatures): Promise<boolean> =>
  insertChainEnds(tx, signedEnds(signatures, { firstPosition: 1, anchorHash: '', headPosition: 0, headHash: '' }));

const signedEnds = (signatures: Signatures, ends: Omit<ChainEnds, 'seal'>): ChainEnds => ({
  ...ends,
  seal: signatures.sign(endsOf(ends)),
});

/** The text that is signed for the link from a row to the previous one. It covers the content of both rows through their signatures. */
export const linkOf = (before: string, position: number, seal: string): string =>
  JSON.stringify(['link', before, position, seal]);

/** The text that the signature of the chain's ends covers. */
export const endsOf = (ends: Omit<ChainEnds, 'seal'>): string =>
  JSON.stringify(['ends', ends.firstPosition, ends.anchorHash, ends.headPosition, ends.headHash]);
