import type { Executor } from '../../db/client.js';
import { findRecipient, findRecipientByEmail, type Recipient } from '../../db/queries/recipients.js';
import { readSettings } from '../../db/queries/settings.js';
import type { Locales } from '../locales.js';
import type { LinkTokens } from '../tokens/link-tokens.js';
import type { LinkMailJob, LinkMailKind, MailJob, MailKind, NoticeJob } from './jobs.js';
import { linkWith } from './links.js';
import { isDue, scopeOf, stateOf } from './recipients.js';
import type { MailTemplates } from './templates.js';
import type { MailTransport } from './transport.js';
import type { MailInput } from './variables.js';

export interface Delivery {
  /** Writes the mail of a job and hands it over; a mail that nobody is to get any more is dropped. */
  deliver(id: string, job: MailJob): Promise<void>;
}

export function createDelivery(deps: {
  db: Executor;
  linkTokens: LinkTokens;
  locales: Locales;
  templates: MailTemplates;
  transport: MailTransport;
  /** How long the link of each kind can be used, in milliseconds. */
  lifetimes: Readonly<Record<LinkMailKind, number>>;
  /** The right-hand side of Message-IDs. */
  domain: string;
}): Delivery {
  const { db, linkTokens, locales, templates, transport, lifetimes, domain } = deps;

  const recipientOf = (job: LinkMailJob): Promise<Recipient | undefined> =>
    job.kind === 'reset' ? findRecipientByEmail(db, job.email) : findRecipient(db, job.user);

  /** @param recipient undefined: the user is there no more */
  const render = async (
    kind: MailKind,
    email: string,
    recipient: Recipient | undefined,
    content: Pick<MailInput, 'url' | 'validFor' | 'notice'>,
  ) => {
    const settings = await readSettings(db);
    const mail = await templates.render(kind, {
      language: locales.pick(recipient?.language, settings.default_language),
      project: { name: settings.project_name, color: settings.project_color, logo: settings.project_logo },
      recipient: { email, first_name: recipient?.firstName ?? null, last_name: recipient?.lastName ?? null },
      ...content,
    });
    return { ...mail, to: email };
  };

  const writeNotice = async ({ user, email, url, ...notice }: NoticeJob) =>
    render('notice', email, await findRecipient(db, user), { url, validFor: null, notice });

  const writeLink = async (job: LinkMailJob) => {
    const recipient = await recipientOf(job);
    if (!recipient?.email || !isDue[job.kind](recipient)) return undefined;
    const subject = { scope: scopeOf[job.kind], userId: recipient.id, state: stateOf(recipient) };
    const validFor = lifetimes[job.kind];
    const url = linkWith(job.url, linkTokens.issue(subject, validFor));
    // The stored address, whatever spelling of it somebody has typed.
    return render(job.kind, recipient.email, recipient, { url, validFor, notice: null });
  };

  return {
    deliver: async (id, job) => {
      const mail = await (job.kind === 'notice' ? writeNotice(job) : writeLink(job));
      if (mail) await transport.send({ ...mail, messageId: `<${id}@${domain}>` });
    },
  };
}
