import type { FastifyInstance } from 'fastify';
import { type KeptMail, readMailbox } from '../../db/queries/mail/mailbox.js';

/** Delivers what is due, and gives all mails in the mailbox to one address, the oldest first. */
export async function mailsTo(app: FastifyInstance, email: string): Promise<KeptMail[]> {
  while ((await app.mail.deliverNow()) > 0);
  const all = await readMailbox(app.db);
  return all.filter(({ to }) => to === email).reverse();
}

/** The link with a token in a mail, if it has one. */
export const findLink = ({ text }: Pick<KeptMail, 'text'>): string | undefined =>
  /https?:\/\/\S*[?&]token=[\w.-]+\S*/.exec(text)?.[0];

/** The link in a mail. */
export function linkIn(mail: Pick<KeptMail, 'text'>): URL {
  const link = findLink(mail);
  if (!link) throw new Error(`There is no link in: ${mail.text}`);
  return new URL(link);
}

/** The token in the link of the latest mail to an address that has one. */
export async function tokenFor(app: FastifyInstance, email: string): Promise<string> {
  const latest = (await mailsTo(app, email)).findLast((mail) => findLink(mail) !== undefined);
  const token = latest && linkIn(latest).searchParams.get('token');
  if (!token) throw new Error(`No mail with a token has come to ${email}.`);
  return token;
}
