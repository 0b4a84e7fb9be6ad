import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Liquid } from 'liquidjs';
import type { Executor } from '../../../db/client.js';
import { type KeptMail, readKeptMail, readMailbox } from '../../../db/queries/mail/mailbox.js';
import type { MailboxAccess } from './access.js';

export interface Mailbox {
  /** All stored emails, newest first. */
  list(): Promise<KeptMail[]>;
  find(id: string): Promise<KeptMail | undefined>;
  /** The HTML page that lists the emails. It shows one of them if `open` is given. */
  page(mails: readonly KeptMail[], open: KeptMail | undefined): Promise<string>;
  readonly style: string;
  /** Checks the access of readers who are not administrators. */
  readonly access: MailboxAccess;
}

const folder = fileURLToPath(new URL('templates', import.meta.url));

/** The development mailbox: shows in the browser what the service would have sent. */
export function createMailbox({ db, access }: { db: Executor; access: MailboxAccess }): Mailbox {
  const engine = new Liquid({ root: folder, cache: true, outputEscape: 'escape', strictVariables: true });
  return {
    list: () => readMailbox(db),
    find: (id) => readKeptMail(db, id),
    page: (mails, open) =>
      engine.renderFile('mailbox.html.liquid', {
        mails: mails.map(toView),
        open: open ? { ...toView(open), text: open.text, link: linkOf(open.text) } : null,
      }),
    access,
    style: readFileSync(`${folder}/mailbox.css`, 'utf8'),
  };
}

const toView = ({ id, to, subject, sentAt }: KeptMail) => ({
  id,
  to,
  subject,
  moment: sentAt.toISOString(),
  day: sentAt.toISOString().slice(0, 10),
  time: sentAt.toISOString().slice(11, 19),
});

/** The link with the token that the email contains; null: it has none. */
const linkOf = (text: string): string | null => /https?:\/\/\S*[?&]token=[^\s]+/.exec(text)?.[0] ?? null;
