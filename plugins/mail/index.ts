import plugin from 'fastify-plugin';
import type { Executor } from '../../db/client.js';
import { createJobQueue, type JobPriority } from '../../db/job-queue.js';
import { type QueuedMail, readQueuedMails } from '../../db/queries/mail/mails.js';
import { senderOf } from '../../schemas/config.js';
import { ApiError } from '../../schemas/errors.js';
import type { Caller } from '../server/caller.js';
import { createDelivery } from './delivery.js';
import type { MailJob } from './jobs.js';
import { createMailTemplates } from './templates.js';
import { createMailTransport, type MailTransport } from './transport.js';
import { createMailWorker, type MailWorker } from './worker.js';

declare module 'fastify' {
  interface FastifyInstance {
    mail: Mail;
  }
}

export interface Mail {
  /**
   * Sends an email once the transaction commits.
   *
   * Emails that anyone can request who knows an address (password reset, registration, "you already have an account") must say
   * which network requested them, in `requestedFrom`. Their limits apply when the email is about to be sent, because only then is
   * it known whether it is sent at all and to which stored address. So the request does the same work whatever the outcome, and
   * only emails that are really sent are counted: for their stored address, for their kind of email, and, unless the user has
   * signed in from there before, for the network. An email over a limit is dropped, and the log says so.
   *
   * A request must not check these limits itself. What it can check is `rateLimits.mayRequestMail`, which bounds how many jobs one
   * network can queue.
   */
  enqueue(tx: Executor, job: MailJob): Promise<void>;
  /**
   * The same for many, in one statement.
   * @param priority `low` for emails of which there may be thousands: they are sent after all others, which do not have to wait
   */
  enqueueAll(tx: Executor, jobs: readonly MailJob[], priority?: JobPriority): Promise<void>;
  /** Mails in the queue, the newest first. @throws {ApiError} FORBIDDEN to all but administrators */
  list(caller: Caller, state: QueuedMail['state'] | null, limit: number): Promise<QueuedMail[]>;
  /** Puts a mail that was given up into the queue again. @throws {ApiError} FORBIDDEN to all but administrators, and when there is no such mail */
  retry(caller: Caller, id: string): Promise<void>;
  /** Whether mails are kept in the mailbox for development. */
  readonly hasMailbox: boolean;
  /** Delivers what is due now, without waiting for the turn of the background. @returns how many were attempted */
  deliverNow(): Promise<number>;
}

export interface MailOptions {
  /** Instead of the one that the configuration asks for. */
  transport?: MailTransport;
}

/** `app.mail`: mails, written down first and sent in the background once the service listens. */
export const mailPlugin = plugin<MailOptions>(
  async (app, { transport: given }) => {
    const { config, db, clock, linkTokens, locales, activity, observe, rateLimits } = app;
    const isProduction = config.NODE_ENV === 'production';
    const templates = createMailTemplates({ locales, folder: config.EMAIL_TEMPLATES_PATH });
    // Those of the service itself are checked by its tests.
    if (config.EMAIL_TEMPLATES_PATH !== undefined) await templates.check();
    const queue = createJobQueue<MailJob>(
      app.databaseConnection,
      'mail',
      {
        retryLimit: config.EMAIL_RETRY_LIMIT,
        retryDelay: Math.round(config.EMAIL_RETRY_DELAY / 1000),
        // Longer than any attempt takes.
        expireInSeconds: 60,
      },
      (error) => app.log.warn(error, 'the queue of mails could not be kept in order'),
    );
    await queue.start();

    const transport = given ?? createMailTransport(config, { db, clock, observe, isProduction });
    if (!transport) app.log.warn('EMAIL_TRANSPORT is not set: mails wait in the queue until it is');
    const worker = transport && createWorker(transport);

    function createWorker(transport: MailTransport): MailWorker {
      const delivery = createDelivery({
        db,
        linkTokens,
        locales,
        templates,
        transport,
        rateLimits,
        onTooMany: (id, kind) => app.log.info({ mail: { id, kind } }, 'an email was not sent: too many were requested'),
        lifetimes: {
          invite: config.USER_INVITE_TOKEN_TTL,
          registration: config.EMAIL_VERIFICATION_TOKEN_TTL,
          reset: config.PASSWORD_RESET_TOKEN_TTL,
          email_change: config.EMAIL_VERIFICATION_TOKEN_TTL,
        },
        pages: {
          login: `${config.PUBLIC_URL}/account/login`,
          newPassword: config.AUTH_DISABLE_DEFAULT ? null : `${config.PUBLIC_URL}/account/forgot-password`,
          verifyEmail: `${config.PUBLIC_URL}/account/verify-email`,
        },
        clock,
        domain: senderOf(config.EMAIL_FROM)?.address.split('@')[1] ?? 'localhost',
      });
      return createMailWorker({
        queue,
        delivery,
        observe,
        onFailure: (error, job) => app.log.warn({ err: error, mail: job }, 'a mail could not be sent; it is kept'),
      });
    }

    app.decorate('mail', {
      enqueue: (tx, job) => queue.send(tx, job),
      enqueueAll: (tx, jobs, priority) => queue.sendAll(tx, jobs, priority),
      list: async (caller, state, limit) => {
        requireAdministrator(caller);
        return readQueuedMails(db, state, limit);
      },
      retry: async (caller, id) => {
        requireAdministrator(caller);
        await db.transaction(async (tx) => {
          // Like any item that is not there.
          if (!(await queue.retry(tx, id))) throw new ApiError('FORBIDDEN');
          await activity.record(tx, caller, [{ action: 'mail_retry', collection: 'mails', item: id.toLowerCase() }]);
        });
      },
      hasMailbox: config.EMAIL_TRANSPORT === 'mailbox' && !isProduction,
      deliverNow: async () => worker?.run() ?? 0,
    });
    app.addHook('onListen', async () => worker?.start());
    app.addHook('onClose', async () => {
      await worker?.stop();
      await queue.stop();
      transport?.close();
    });
  },
  {
    name: 'mail',
    dependencies: ['config', 'database', 'clock', 'tokens', 'locales', 'activity', 'tracing', 'rate-limits'],
  },
);

function requireAdministrator(caller: Caller): void {
  if (!caller.admin) throw new ApiError('FORBIDDEN');
}
