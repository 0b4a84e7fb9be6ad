import { setTimeout as sleep } from 'node:timers/promises';
import type { Executor } from '../../db/client.js';
import { findSettledSession, type Refresh, takeRefreshBack } from '../../db/queries/sessions.js';
import { ApiError } from '../../schemas/errors.js';

/**
 * What became of refreshes that were to be committed when the connection was lost, or too late: each was done, or it was not.
 * Nobody has got the tokens of such a one, and without them its client would have lost the session.
 */
export interface Doubts {
  /**
   * Whether a refresh was done. False as well when that cannot be told in time: should it have been done, it is taken back
   * as soon as the database says so, as a refresh that failed has consumed nothing (contract 2.2).
   * @param milliseconds that somebody waits for the answer
   */
  wasDone(refresh: Refresh, milliseconds: number): Promise<boolean>;
  /**
   * Comes back when nothing about a session is in doubt any more.
   * @throws {ApiError} SERVICE_UNAVAILABLE when that takes too long
   */
  resolved(id: string, milliseconds: number): Promise<void>;
  /** Leaves what is in doubt as it is. Comes back when nothing is under way any more. */
  stop(): Promise<void>;
}

/** Milliseconds between two looks at the database. */
const interval = 200;
/** After so long a refresh is left as it is: its client has given up. */
const longest = 3_600_000;

interface Doubt extends Refresh {
  since: number;
  isAwaited: boolean;
  tell(wasDone: boolean): void;
}

/** @param onTakenBack told of each refresh that was done too late for its client, and is undone */
export function createDoubts(db: Executor, onTakenBack: (session: { id: string }) => void): Doubts {
  const open = new Set<Doubt>();
  const isOpen = (id: string) => [...open].some((doubt) => doubt.id === id);
  let isStopped = false;
  let underWay: Promise<void> | undefined;

  /** @throws when it cannot be told yet */
  const settle = async (doubt: Doubt): Promise<void> => {
    const { id, to } = doubt;
    const session = await db.transaction((tx) => findSettledSession(tx, id));
    const wasDone = session?.generation === to.generation && session.tokenHash === to.tokenHash;
    // In mode `session` whoever asks again is given the same successor, and maybe has been by now.
    if (wasDone && !doubt.isAwaited && to.tokenHash !== null) {
      await takeRefreshBack(db, doubt);
      onTakenBack({ id });
    }
    doubt.tell(wasDone);
  };

  const settleAll = async (): Promise<void> => {
    while (open.size > 0 && !isStopped) {
      for (const doubt of [...open]) {
        const isOver = await settle(doubt).then(
          () => true,
          () => performance.now() - doubt.since > longest,
        );
        if (isOver) open.delete(doubt);
      }
      if (open.size > 0) await sleep(interval, undefined, { ref: false });
    }
  };

  return {
    wasDone: (refresh, milliseconds) =>
      new Promise((answer) => {
        const giveUp = setTimeout(() => {
          doubt.isAwaited = false;
          answer(false);
        }, milliseconds);
        const tell = (wasDone: boolean) => {
          clearTimeout(giveUp);
          answer(wasDone);
        };
        const doubt: Doubt = { ...refresh, since: performance.now(), isAwaited: milliseconds > 0, tell };
        open.add(doubt);
        underWay ??= settleAll().finally(() => {
          underWay = undefined;
        });
      }),

    resolved: async (id, milliseconds) => {
      for (const end = performance.now() + milliseconds; isOpen(id) && performance.now() < end; ) await sleep(20);
      if (!isOpen(id)) return;
      const reason = 'What became of an earlier refresh is not known yet.';
      throw new ApiError('SERVICE_UNAVAILABLE', { service: 'database', reason });
    },

    stop: async () => {
      isStopped = true;
      await underWay;
    },
  };
}
