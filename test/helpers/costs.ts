import type { FastifyInstance } from 'fastify';
import { hearStatements } from './statements.js';

/** What some work costs. */
export interface Cost {
  /** Passwords that were hashed or checked. */
  hashes: number;
  statements: number;
  /** Statements that put emails into the queue. */
  emails: number;
}

/** Statements of the background, which note who was here, and of the audit log, which is written after a refusal. */
const isBeside = (text: string) =>
  /with used as|"activity_chain"/.test(text) || /^\s*insert into "activity"/.test(text);

/** Counts what the service does while some work goes on. */
export async function costOf<T>(app: FastifyInstance, work: () => Promise<T>): Promise<[result: T, cost: Cost]> {
  const cost: Cost = { hashes: 0, statements: 0, emails: 0 };
  const stopHearing = hearStatements(app, ({ text }) => {
    if (isBeside(text)) return;
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
