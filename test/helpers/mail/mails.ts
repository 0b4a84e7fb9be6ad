import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type KeptMail, readMailbox } from '../../../db/queries/mail/mailbox.js';

/** Delivers due emails and returns all emails in the mailbox to one address, oldest first. */
export async function mailsTo(app: FastifyInstance, email: string): Promise<KeptMail[]> {
  while ((await app.mail.deliverNow()) > 0);
  const all = await readMailbox(app.db);
  return all.filter(({ to }) => to === email).reverse();
}

/** The link with a token in an email, if it has one. The link in every security notice does not count. */
export const findLink = ({ text }: Pick<KeptMail, 'text'>): string | undefined =>
  /https?:\/\/(?!\S*\/account\/not-me\?)\S*[?&]token=[\w.-]+\S*/.exec(text)?.[0];

/** The link with a token in an email. @throws if the email has no such link */
export function linkIn(mail: Pick<KeptMail, 'text'>): URL {
  const link = findLink(mail);
  if (!link) throw new Error(`There is no link in: ${mail.text}`);
  return new URL(link);
}

/** The code in an email, six digits on a line of their own, if it has one. */
export const findCode = ({ text }: Pick<KeptMail, 'text'>): string | undefined => /^\d{6}$/m.exec(text)?.[0];

/** The code in an email. @throws if the email has no code */
export function codeIn(mail: Pick<KeptMail, 'text'>): string {
  const code = findCode(mail);
  if (!code) throw new Error(`There is no code in: ${mail.text}`);
  return code;
}

/** A wrong code. @param by a number below a million; each one gives a different code */
export const otherCode = (code: string, by = 1) => String((Number(code) + by) % 1_000_000).padStart(6, '0');

/** The token from the latest email with a link to this address. @throws if there is no such email */
export async function tokenFor(app: FastifyInstance, email: string): Promise<string> {
  const latest = (await mailsTo(app, email)).findLast((mail) => findLink(mail) !== undefined);
  const token = latest && linkIn(latest).searchParams.get('token');
  if (!token) throw new Error(`There is no email with a token to ${email}.`);
  return token;
}

/**
 * The latest link to an account page in the emails to an address, as a path with the token. Waits for the email, which the service
 * may write after the response, so that the response does not reveal whether there is one.
 */
export async function linkTo(app: FastifyInstance, page: string, email: string): Promise<string> {
  for (let tries = 0; tries < 100; tries++) {
    const mails = await mailsTo(app, email);
    const links = mails.flatMap(({ text }) => text.match(/(?<=https?:\/\/[^/]+)\/account\/\S+/g) ?? []);
    const link = links.findLast((one) => one.startsWith(`/account/${page}?token=`));
    if (link) return link;
    await sleep(50);
  }
  throw new Error(`There is no link to ${page} in the emails to ${email}.`);
}
