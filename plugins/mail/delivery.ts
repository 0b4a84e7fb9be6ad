import type { Executor } from '../../db/client.js';
import { findRecipient, findRecipientByEmail, type Recipient } from '../../db/queries/recipients.js';
import { readSettings } from '../../db/queries/settings.js';
import type { Locales } from '../locales.js';
import type { LinkTokens } from '../tokens/link-tokens.js';
import type { MailJob, MailKind } from './jobs.js';
import { linkWith } from './links.js';
import { isDue, scopeOf, stateOf } from './recipients.js';
import type { MailTemplates } from './templates.js';
import type { MailTransport } from './transport.js';

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
  lifetimes: Readonly<Record<MailKind, number>>;
  /** The right-hand side of Message-IDs. */
  domain: string;
}): Delivery {
  const { db, linkTokens, locales, templates, transport, lifetimes, domain } = deps;

  const recipientOf = (job: MailJob): Promise<Recipient | undefined> =>
    job.kind === 'reset' ? findRecipientByEmail(db, job.email) : findRecipient(db, job.user);

  return {
    deliver: async (id, job) => {
      const recipient = await recipientOf(job);
      if (!recipient?.email || !isDue[job.kind](recipient)) return;
      const settings = await readSettings(db);
      const subject = { scope: scopeOf[job.kind], userId: recipient.id, state: stateOf(recipient) };
      const token = linkTokens.issue(subject, lifetimes[job.kind]);
      const content = await templates.render(job.kind, {
        language: locales.pick(recipient.language, settings.default_language),
        project: { name: settings.project_name, color: settings.project_color, logo: settings.project_logo },
        variables: {
          url: linkWith(job.url, token),
          email: recipient.email,
          first_name: recipient.firstName,
          last_name: recipient.lastName,
        },
        validFor: lifetimes[job.kind],
      });
      // The stored address, whatever spelling of it somebody has typed.
      await transport.send({ ...content, to: recipient.email, messageId: `<${id}@${domain}>` });
    },
  };
}
