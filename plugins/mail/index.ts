import type { Executor } from '../../db/client.js';
import type { Job, JobPriority } from '../../db/job-queue.js';
import type { JobWork } from '../platform/jobs/worker.js';
import { definePlugin } from '../platform/plugin.js';
import type { TracedOperation } from '../platform/traced-operations.js';
import { createDelivery } from './delivery.js';
import { createFamiliarOrigins, type IsFamiliar } from './familiar-origins.js';
import type { MailJob } from './jobs.js';
import { createRequestMail, type RequestMail } from './requested-mails.js';
import { createMailTemplates } from './templates.js';
import { createMailTransport, MailRejectedError, type MailTransport } from './transport.js';

declare module '../platform/plugin.js' {
  interface Services {
    mail: Mail;
    /** Whether a user has signed in before from the network or the browser that requests an email to them. */
    isFamiliarOrigin: IsFamiliar;
    requestMail: RequestMail;
  }
}

export interface Mail {
  /**
   * Sends an email once the transaction commits.
   *
   * Some emails can be requested by anyone who knows an address, such as those for password reset, sign-in, and registration. Their
   * jobs must contain the network that requested them, in `requestedFrom`. The limits for these emails apply immediately before the
   * email is sent, because only then does the service know whether it sends the email, and to which stored address. Therefore the
   * request does the same work whatever the outcome, and only emails that are actually sent are counted: for each kind of email, per
   * stored address and network. Emails requested from a network or browser that the user has signed in from before are counted
   * separately, per stored address only. An email over a limit is dropped and logged, and `GET /mails` returns it as such.
   *
   * A request must not check these limits itself. It enqueues such an email with `requestMail`, which limits how many jobs one network
   * can queue.
   */
  enqueue(tx: Executor, job: MailJob): Promise<void>;
  /**
   * Sends many emails, queued in one statement.
   * @param priority `low` for emails that can number in the thousands: they are sent last, so that other emails do not wait for them
   */
  enqueueAll(tx: Executor, jobs: readonly MailJob[], priority?: JobPriority): Promise<void>;
  /** Queues an email again after its last attempt has failed. @returns whether there is such an email */
  retry(tx: Executor, id: string): Promise<boolean>;
  /** Whether emails are stored in the development mailbox. */
  readonly hasMailbox: boolean;
  /** Delivers the emails that are due now, without waiting for the background worker. @returns how many it tried to deliver */
  deliverNow(): Promise<number>;
}

export interface MailOptions {
  /** Replaces the transport that the configuration selects. */
  transport?: MailTransport;
}

/** `app.mail`: stores emails in a queue, and sends them in the background once the service listens. */
export const mailPlugin = definePlugin<MailOptions>('mail', async (services, app, { transport: given }) => {
  const { config, db, clock, locales, observe, knownBrowsers, defineJob } = services;
  const isFamiliarOrigin = createFamiliarOrigins(db, knownBrowsers);
  const isProduction = config.NODE_ENV === 'production';
  const templates = createMailTemplates({ locales, folder: config.EMAIL_TEMPLATES_PATH });
  // The tests check the built-in templates.
  if (config.EMAIL_TEMPLATES_PATH !== undefined) await templates.check();
  const { EMAIL_PAUSED: isPaused } = config;
  const transport = isPaused
    ? null
    : (given ?? (await createMailTransport(config, { db, clock, observe, isProduction })));
  app.addHook('onReady', async () => {
    if (isPaused) app.log.warn('EMAIL_PAUSED is set: emails wait in the queue');
    else if (!transport)
      app.log.warn('EMAIL_TRANSPORT is mailbox: emails wait in the queue until you set it to smtp or sendmail');
  });
  app.addHook('onClose', async () => transport?.close());

  const workWith = (transport: MailTransport): JobWork<MailJob> => {
    const delivery = createDelivery(services, {
      templates,
      transport,
      isFamiliar: isFamiliarOrigin,
      onTooMany: (id, kind, limit) =>
        app.log.info({ mail: { id, kind, limit } }, 'an email was dropped: it exceeded a limit'),
    });
    return {
      concurrency: 5,
      run: (job) => observe(deliveryOf(job), () => delivery.deliver(job)),
      isPermanent: (error) => error instanceof MailRejectedError,
      onFailure: (error, { id, data: { kind } }) =>
        app.log.warn(
          { err: error, mail: { id, kind, response: responseIn(error) } },
          'an email could not be sent; it is kept',
        ),
    };
  };
  const jobs = defineJob<MailJob>('mail', {
    retryLimit: config.EMAIL_RETRY_LIMIT,
    retryDelay: Math.round(config.EMAIL_RETRY_DELAY / 1000),
    // Longer than any attempt can take.
    expireInSeconds: 60,
    retentionDays: 30,
    work: transport && workWith(transport),
  });

  const mail: Mail = {
    enqueue: (tx, job) => jobs.send(tx, job),
    enqueueAll: (tx, list, priority) => jobs.sendAll(tx, list, priority),
    retry: (tx, id) => jobs.retry(tx, id),
    hasMailbox: config.EMAIL_TRANSPORT === 'mailbox' && !isProduction,
    deliverNow: jobs.runNow,
  };
  return { mail, isFamiliarOrigin, requestMail: createRequestMail(services, isFamiliarOrigin, app.log) };
});

const deliveryOf = ({ id, data: { kind } }: Job<MailJob>): TracedOperation => ({
  name: 'deliver mail',
  kind: 'internal',
  attributes: { 'gatehouse.mail.id': id, 'gatehouse.mail.kind': kind },
  isRoot: true,
});

/** What the mail server responded, if that is why an email could not be sent. */
function responseIn(error: unknown): string | undefined {
  const { response, cause } = error as { response?: string; cause?: { response?: string } };
  return response ?? cause?.response;
}
