import { asc, desc, eq, notInArray } from 'drizzle-orm';
import type { Executor } from '../../client.js';
import { mailbox } from '../../schema.js';

/** Maximum number of emails in the development mailbox; the oldest are deleted first. */
const capacity = 200;

export interface KeptMail {
  id: string;
  sentAt: Date;
  to: string;
  subject: string;
  html: string;
  text: string;
  language: string;
  messageId: string;
}

/** Stores an email, unless one with the same Message-ID is already stored. */
export async function keepMail(executor: Executor, mail: Omit<KeptMail, 'id' | 'sentAt'>, now: Date): Promise<void> {
  const { to, ...rest } = mail;
  await executor.transaction(async (tx) => {
    await tx
      .insert(mailbox)
      .values({ ...rest, recipient: to, sentAt: now })
      .onConflictDoNothing();
    const newest = tx.select({ id: mailbox.id }).from(mailbox).orderBy(desc(mailbox.sentAt)).limit(capacity);
    await tx.delete(mailbox).where(notInArray(mailbox.id, newest));
  });
}

const columns = {
  id: mailbox.id,
  sentAt: mailbox.sentAt,
  to: mailbox.recipient,
  subject: mailbox.subject,
  html: mailbox.html,
  text: mailbox.text,
  language: mailbox.language,
  messageId: mailbox.messageId,
};

/** All stored emails, newest first. */
export async function readMailbox(executor: Executor): Promise<KeptMail[]> {
  return executor.select(columns).from(mailbox).orderBy(desc(mailbox.sentAt), asc(mailbox.id));
}

export async function readKeptMail(executor: Executor, id: string): Promise<KeptMail | undefined> {
  const [found] = await executor.select(columns).from(mailbox).where(eq(mailbox.id, id));
  return found;
}
