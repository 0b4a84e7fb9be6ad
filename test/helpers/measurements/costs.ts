import type { FastifyInstance } from 'fastify';
import { hearStatements } from '../database/statements.js';

/** The cost of some work. */
export interface Cost {
  /** The number of passwords hashed or verified. */
  hashes: number;
  statements: number;
  /** The number of statements that add emails to the queue. */
  emails: number;
}

/**
 * Whether a statement is not part of the work: background statements record when users were last seen, and the audit
 * log is written after a rejected request.
 */
const isBackground = (text: string) =>
  /with used as|"activity_chain"/.test(text) || /^\s*insert into "activity"/.test(text);

/** Counts what the service does during some work. */
export async function costOf<T>(app: FastifyInstance, work: () => Promise<T>): Promise<[result: T, cost: Cost]> {
  const cost: Cost = { hashes: 0, statements: 0, emails: 0 };
  const stopHearing = hearStatements(app, ({ text }) => {
    if (isBackground(text)) return;
    cost.statements++;
    if (/insert into pgboss/i.test(text)) cost.emails++;
  });
  const { hash, hashMany, verify } = app.passwords;
  Object.assign(app.passwords, {
    hash: (...given: Parameters<typeof hash>) => {
      cost.hashes++;
      return hash(...given);
    },
    hashMany: (...given: Parameters<typeof hashMany>) => {
      cost.hashes += given[0].length;
      return hashMany(...given);
    },
    verify: (...given: Parameters<typeof verify>) => {
      cost.hashes++;
      return verify(...given);
    },
  });
  try {
    return [await work(), cost];
  } finally {
    Object.assign(app.passwords, { hash, hashMany, verify });
    stopHearing();
  }
}
