import { hostname } from 'node:os';
import { domainToASCII } from 'node:url';
import type { createTransport, SendMailOptions } from 'nodemailer';
import type { Executor } from '../../db/client.js';
import { keepMail } from '../../db/queries/mail/mailbox.js';
import type { Config } from '../../schemas/config.js';
import { senderOf } from '../../schemas/config-values.js';
import type { Clock } from '../platform/clock.js';
import type { Observe, TracedOperation } from '../platform/traced-operations.js';
import { within } from '../platform/within.js';

/** An email that is ready to be sent. */
export interface OutgoingMail {
  /** The same for every attempt, so that email programs can recognize duplicates. */
  messageId: string;
  /** One address, in its stored form. */
  to: string;
  subject: string;
  html: string;
  text: string;
  language: string;
}

/** The mail server has permanently rejected the recipient or the message, so that later attempts are almost certain to fail. */
export class MailRejectedError extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
    this.name = 'MailRejectedError';
  }
}

export interface MailTransport {
  /**
   * Resolves when the receiving server or program has accepted the email. Rejects if it does not, or not in time.
   * @throws {MailRejectedError} when the mail server permanently rejects the recipient or the message
   */
  send(mail: OutgoingMail): Promise<void>;
  close(): void;
}

/** Time limits for the mail server in milliseconds: for each step, and for the whole delivery. */
const smtpTimeoutMs = { connect: 10_000, greeting: 10_000, silence: 15_000, all: 40_000 };
const tooLate = () => new Error('The mail server took too long to respond.');

/** Sends emails over SMTP, through `sendmail`, or to the development mailbox. Null: no transport is available, so emails wait. */
export async function createMailTransport(
  config: Config,
  deps: { db: Executor; clock: Clock; observe: Observe; isProduction: boolean },
): Promise<MailTransport | null> {
  const { db, clock, observe, isProduction } = deps;
  const { EMAIL_TRANSPORT: kind, EMAIL_SMTP_HOST: host, EMAIL_SMTP_PORT: port } = config;
  if (kind === 'mailbox') {
    return isProduction ? null : { send: (mail) => keepMail(db, mail, clock()), close: () => {} };
  }
  const refusals = createRefusalRecord();
  const { createTransport: create } = await import('nodemailer');
  const mailer = kind === 'smtp' ? createSmtp(create, config, refusals.logger) : createSendmail(create, config);
  const from = senderOf(config.EMAIL_FROM) ?? config.EMAIL_FROM;
  const handover: TracedOperation =
    kind === 'smtp'
      ? { name: 'SMTP', kind: 'client', attributes: { 'server.address': host, 'server.port': port } }
      : { name: 'sendmail', kind: 'client', attributes: {} };
  return {
    send: async ({ to, subject, html, text, messageId, language }) => {
      const mail: SendMailOptions = {
        from,
        // As an object, the value is always treated as a single address, whatever it contains.
        to: { name: '', address: to },
        subject,
        html,
        text,
        messageId,
        headers: {
          'Content-Language': language,
          // Tells automatic responders not to reply (RFC 3834).
          'Auto-Submitted': 'auto-generated',
        },
      };
      const earlier = refusals.count();
      try {
        await observe(handover, () => within(smtpTimeoutMs.all, mailer.sendMail(mail), tooLate));
      } catch (error) {
        throw isRejection(error) ? new MailRejectedError(error) : withResponse(error, refusals.since(earlier));
      }
    },
    close: () => mailer.close(),
  };
}

/**
 * Whether an error is a permanent rejection of this email. A permanent error at any other step, such as the greeting, AUTH, or MAIL
 * FROM, concerns the service and not the email, and can be resolved by changing the configuration.
 */
function isRejection(error: unknown): error is Error {
  const { command, permanent } = error as { command?: string; permanent?: boolean };
  return error instanceof Error && permanent === true && (command === 'RCPT TO' || command === 'DATA');
}

/**
 * If the mail server refuses EHLO and closes the connection, the error of the library does not contain the response. Therefore this
 * records the latest refusal on all connections, which are to the same server. Refusals of a single email are not recorded: they concern
 * no other email, and the library reports them.
 */
function createRefusalRecord() {
  let count = 0;
  let latest: string | undefined;
  /** The connections on which no email has been sent yet. */
  const opening = new Set<string>();
  const note = ({ tnx, sid = '' }: { tnx?: string; sid?: string }, line: unknown) => {
    const text = String(line);
    if (tnx === 'network' && text.includes(' established to ')) opening.add(sid);
    if ((tnx === 'network' && text.includes('closed')) || (tnx === 'client' && /^MAIL FROM/i.test(text)))
      opening.delete(sid);
    if (tnx !== 'server' || !opening.has(sid) || !/^[45]\d\d[ -]/.test(text)) return;
    count++;
    latest = text.slice(0, maxResponseLength);
  };
  const ignore = () => {};
  return {
    logger: { trace: note, debug: note, info: note, warn: ignore, error: ignore, fatal: ignore },
    count: () => count,
    /** The latest refusal, if there was one after `earlier`. */
    since: (earlier: number) => (count > earlier ? latest : undefined),
  };
}

const maxResponseLength = 1000;

/** Adds the response of the mail server to an error that does not contain it. */
function withResponse(error: unknown, response: string | undefined): unknown {
  if (!(error instanceof Error) || response === undefined || 'response' in error) return error;
  return Object.assign(new Error(`${error.message}: ${response}`, { cause: error }), { response });
}

/** A name that strict mail servers accept for EHLO: at least two labels, and not an IP address. */
const fullName = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

/**
 * The name with which the service introduces itself to mail servers: the host of PUBLIC_URL, if it is a full domain name. Otherwise,
 * the domain of the sender, or the name of the machine. In a container, that is often not a full name, which many servers refuse.
 */
export function ehloNameOf(
  { EMAIL_SMTP_NAME, PUBLIC_URL, EMAIL_FROM }: Pick<Config, 'EMAIL_SMTP_NAME' | 'PUBLIC_URL' | 'EMAIL_FROM'>,
  machine = hostname(),
): string {
  if (EMAIL_SMTP_NAME !== undefined) return EMAIL_SMTP_NAME;
  const sender = domainToASCII(senderOf(EMAIL_FROM)?.address.split('@')[1] ?? '');
  // The default sender is only an example, and its domain does not allow anyone to send emails for it.
  const candidates = [new URL(PUBLIC_URL).hostname, sender === 'example.com' ? '' : sender, machine];
  return candidates.find((name) => fullName.test(name)) ?? 'localhost.localdomain';
}

type Create = typeof createTransport;

function createSmtp(create: Create, config: Config, logger: ReturnType<typeof createRefusalRecord>['logger']) {
  const { EMAIL_SMTP_USER: user, EMAIL_SMTP_PASSWORD: pass } = config;
  return create({
    host: config.EMAIL_SMTP_HOST,
    port: config.EMAIL_SMTP_PORT,
    name: ehloNameOf(config),
    logger,
    transactionLog: true,
    secure: config.EMAIL_SMTP_SECURE,
    ignoreTLS: config.EMAIL_SMTP_IGNORE_TLS,
    ...(user === undefined ? {} : { auth: { user, pass: pass ?? '' } }),
    pool: true,
    maxConnections: 5,
    connectionTimeout: smtpTimeoutMs.connect,
    greetingTimeout: smtpTimeoutMs.greeting,
    socketTimeout: smtpTimeoutMs.silence,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

const createSendmail = (create: Create, config: Config) =>
  create({
    sendmail: true,
    path: config.EMAIL_SENDMAIL_PATH,
    newline: 'unix',
    disableFileAccess: true,
    disableUrlAccess: true,
  });
