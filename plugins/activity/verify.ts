import type { Executor } from '../../db/client.js';
import {
  type ActivityRow,
  highestPosition,
  lowestPosition,
  readChainEnds,
  readLinked,
  readUnlinked,
} from '../../db/queries/activity/activity.js';
import type { NotedHead } from '../../schemas/activity.js';
import type { Services } from '../platform/plugin.js';
import { contentOf } from './audit-log.js';
import { endsOf, linkOf } from './chain.js';
import type { Signatures } from './signatures.js';

/** Which part of the audit log to verify. */
export interface Extent {
  /** A head that was noted earlier, which the chain must still contain. */
  noted?: NotedHead | undefined;
  /** Begins after the noted head instead of at the first row. */
  isContinued?: boolean;
  /** How many rows of the chain to verify, in whole pages of {@link page} rows. Default: all. */
  limit?: number;
}

/** The result of the verification, with the first fault if there is one. */
export type Verdict =
  /**
   * `head` is the last row that was verified, and null if no row has been linked yet. `linked` rows of the chain, from the position `first`
   * on, and `unlinked` rows were verified. `isComplete`: these include all rows up to the end.
   */
  | {
      isIntact: true;
      isComplete: boolean;
      first: number;
      head: NotedHead | null;
      linked: number;
      unlinked: number;
    }
  | { isIntact: false; fault: string };

/** Ends the verification at the first fault. */
class Fault extends Error {}

/** Rows per statement. */
const page = 500;

const unknownKey = (what: string) =>
  `${what} was signed with an unknown SECRET. Add the SECRET of that time to PREVIOUS_SECRETS, and verify again.`;

/** Verifies the rows of the audit log in order, and stops at the first fault. */
export type VerifyActivity = (extent?: Extent) => Promise<Verdict>;

/** `app.verifyActivity` */
export const createVerifyActivity =
  ({ db }: Pick<Services, 'db'>, signatures: Signatures): VerifyActivity =>
  (extent = {}) =>
    // Read a consistent snapshot, because new rows are linked meanwhile.
    db.transaction((tx) => verify(tx, signatures, extent), {
      isolationLevel: 'repeatable read',
      accessMode: 'read only',
    });

async function verify(executor: Executor, signatures: Signatures, extent: Extent): Promise<Verdict> {
  try {
    const chain = await walkChain(executor, signatures, extent);
    const unlinked = chain.isComplete ? await checkUnlinked(executor, signatures, extent.limit) : 0;
    return { isIntact: true, ...chain, unlinked };
  } catch (error) {
    if (error instanceof Fault) return { isIntact: false, fault: error.message };
    throw error;
  }
}

async function walkChain(executor: Executor, signatures: Signatures, extent: Extent) {
  const { noted, isContinued = false, limit = Number.POSITIVE_INFINITY } = extent;
  const ends = await readChainEnds(executor);
  if (!ends) {
    const highest = await highestPosition(executor);
    throw new Fault(
      highest === null
        ? 'The row that marks the ends of the chain is missing, and there are no linked rows: the log was emptied, or the service has not been started yet.'
        : `The row that marks the ends of the chain is missing. The last row is at position ${highest}.`,
    );
  }
  const check = signatures.verify(endsOf(ends), ends.seal);
  if (check === 'unknown key') throw new Fault(unknownKey('The row that marks the ends of the chain'));
  if (check === 'invalid') throw new Fault('The row that marks the ends of the chain was altered.');

  const { firstPosition, anchorHash, headPosition, headHash } = ends;
  const requireNoted = (position: number, hash: string) => {
    if (noted?.position === position && noted.hash !== hash) {
      throw new Fault(`Position ${position} does not have the noted hash: the chain was recreated.`);
    }
  };
  requireNoted(firstPosition - 1, anchorHash);
  if (noted && noted.position > headPosition) {
    throw new Fault(`The chain ends at position ${headPosition}, but should extend at least to ${noted.position}.`);
  }
  // Old rows may have been removed since the head was noted.
  const isAfterNoted = isContinued && noted !== undefined && noted.position >= firstPosition;
  const first = isAfterNoted ? noted.position + 1 : firstPosition;
  let expected = first;
  let before = isAfterNoted ? noted.hash : anchorHash;
  for (;;) {
    if (expected - first >= limit) {
      return { isComplete: false, first, head: { position: expected - 1, hash: before }, linked: expected - first };
    }
    const found = await readLinked(executor, expected, page);
    for (const row of found) {
      if (expected > headPosition)
        throw new Fault(`Position ${row.position} is after the end of the chain, position ${headPosition}.`);
      checkRow(signatures, row, expected, before);
      before = row.hash ?? '';
      requireNoted(expected, before);
      expected++;
    }
    if (found.length < page) break;
  }
  if (expected <= headPosition) {
    const places =
      expected === headPosition ? `Position ${expected} is` : `Positions ${expected} to ${headPosition} are`;
    throw new Fault(`${places} missing at the end. The rows were removed after they were linked.`);
  }
  if (before !== headHash) throw new Fault(`Position ${headPosition} is not the row with which the chain ended.`);
  // Rows after the end were found on the way.
  const lowest = await lowestPosition(executor);
  if (lowest !== null && lowest < firstPosition)
    throw new Fault(`Position ${lowest} is before the beginning of the chain, position ${firstPosition}.`);
  const head = headPosition === 0 ? null : { position: headPosition, hash: headHash };
  return { isComplete: true, first, head, linked: headPosition - first + 1 };
}

function checkRow(signatures: Signatures, row: ActivityRow, expected: number, before: string): void {
  const { id, position, seal, hash } = row;
  const place = `Position ${position} (row ${id})`;
  if (position !== expected) {
    throw new Fault(
      Number(position) > expected
        ? `Position ${expected} is missing: its row was removed or moved. The next row is at position ${position} (row ${id}).`
        : `${place} occurs twice.`,
    );
  }
  const content = signatures.verify(contentOf(row), seal);
  if (content === 'unknown key') throw new Fault(unknownKey(place));
  if (content === 'invalid') throw new Fault(`${place} was altered after it was written.`);
  const link = signatures.verify(linkOf(before, position, seal), hash ?? '');
  if (link === 'unknown key') throw new Fault(unknownKey(`The link of position ${position} (row ${id})`));
  if (link === 'invalid') {
    throw new Fault(`${place} does not follow from the row before it: rows were moved, replaced, or linked again.`);
  }
}

/** Rows that are not linked yet have no previous row to check, but their content is signed. */
async function checkUnlinked(executor: Executor, signatures: Signatures, limit = Number.POSITIVE_INFINITY) {
  let count = 0;
  for (let after: string | undefined; ; ) {
    const found: ActivityRow[] = await readUnlinked(executor, page, after);
    for (const row of found) {
      const check = signatures.verify(contentOf(row), row.seal);
      if (check === 'unknown key') throw new Fault(unknownKey(`Row ${row.id}`));
      if (check === 'invalid') throw new Fault(`Row ${row.id}, which is not linked yet, was altered or inserted.`);
    }
    count += found.length;
    after = found.at(-1)?.id;
    if (found.length < page || count >= limit) return count;
  }
}
