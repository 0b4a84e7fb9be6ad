import type { Job } from '../../db/job-queue.js';
import { storeRecipient } from '../../db/queries/mail/mails.js';
import { findRecipient, findRecipientByEmail, type Recipient } from '../../db/queries/mail/recipients.js';
import { matchesRegistrationFilter } from '../../db/queries/registration/registration-filter.js';
import { extendRegistration, readRegistrations } from '../../db/queries/registration/registrations.js';
import { readSettings } from '../../db/queries/settings/settings.js';
import { storeEmailCode } from '../../db/queries/step-up/email-codes.js';
import { findEmailChange } from '../../db/queries/users/email-changes.js';
import { senderOf } from '../../schemas/config-values.js';
import type { MailLimit } from '../../schemas/mails.js';
import type { Services } from '../platform/plugin.js';
import { emailCodeLifetime, maxWrongCodes } from '../tokens/email-codes.js';
import type { LinkSubject } from '../tokens/link-tokens.js';
import type { IsFamiliar } from './familiar-origins.js';
import type {
  EmailChangeJob,
  EmailChangeNoticeJob,
  EmailCodeJob,
  EmailLoginJob,
  LinkMailKind,
  MailJob,
  MailKind,
  NoticeJob,
} from './jobs.js';
import {
  cancelStateOf,
  changeStateOf,
  isApplicable,
  linkStateOf,
  notMeStateOf,
  scopeOf,
  stateOfRegistration,
} from './recipients.js';
import type { MailTemplates, RenderedMail } from './templates.js';
import type { MailTransport } from './transport.js';
import type { MailInput } from './variables.js';

export interface Delivery {
  /**
   * Renders the email of a job and sends it.
   * @returns why the email was dropped: because it is over a limit, or because it has no recipient; undefined: it was sent
   */
  deliver(job: Job<MailJob>): Promise<DroppedMail | undefined>;
}

/** Why an email was not sent. The queue keeps it, and `GET /mails` returns it. */
export interface DroppedMail {
  /** The limit that was exceeded; null: the email had no recipient. */
  limit: MailLimit | null;
  reason: string;
}

export function createDelivery(
  { config, db, databaseConnection, clock, linkTokens, emailCodes, locales, rateLimits }: Services,
  own: {
    templates: MailTemplates;
    transport: MailTransport;
    isFamiliar: IsFamiliar;
    onTooMany(id: string, kind: MailKind, limit: MailLimit): void;
  },
): Delivery {
  const { templates, transport, isFamiliar, onTooMany } = own;
  /** How long the link in each kind of email can be used, in milliseconds. */
  const lifetimes: Readonly<Record<LinkMailKind | 'email_change', number>> = {
    invite: config.USER_INVITE_TOKEN_TTL,
    registration: config.EMAIL_VERIFICATION_TOKEN_TTL,
    reset: config.PASSWORD_RESET_TOKEN_TTL,
    email_change: config.EMAIL_VERIFICATION_TOKEN_TTL,
  };
  /** The folder of the account pages. Links to other pages are not displayed in HTML emails. */
  const accountUrl = `${config.PUBLIC_URL}/account/`;
  /** Links for emails whose job has no URL. `newPassword` is null if there is no login with a password. */
  const pages = {
    login: `${accountUrl}login`,
    newPassword: config.AUTH_DISABLE_DEFAULT ? null : `${accountUrl}forgot-password`,
    verifyEmail: `${accountUrl}verify-email`,
  };
  /** The right-hand side of Message-IDs. */
  const domain = senderOf(config.EMAIL_FROM)?.address.split('@')[1] ?? 'localhost';

  /** @param recipient undefined: the user no longer exists */
  const render = async (
    kind: MailKind,
    email: string,
    recipient: Recipient | undefined,
    content: Partial<Pick<MailInput, 'url' | 'code' | 'passwordUrl' | 'inviter' | 'validFor' | 'notice'>>,
  ) => {
    const settings = await readSettings(db);
    // Anyone can enter an address that is not their own, and a message instead of a name.
    const isConfirmed = recipient?.emailVerifiedAt != null && recipient.email === email;
    const named = isConfirmed && kindsWithNames.has(kind) ? recipient : undefined;
    const mail = await templates.render(kind, {
      language: locales.pick(recipient?.language, settings.default_language),
      project: { name: settings.project_name, color: settings.project_color, logo: settings.project_logo },
      recipient: { email, first_name: named?.firstName ?? null, last_name: named?.lastName ?? null },
      url: null,
      isOwnPage: content.url != null && isAccountPage(content.url),
      validFor: null,
      notice: null,
      ...content,
    });
    return { ...mail, kind, to: email, user: recipient?.id };
  };

  /** Whether a link leads to one of the account pages and contains no text but its token. */
  const isAccountPage = (url: string) =>
    url.startsWith(accountUrl) && /^[a-z-]+(?:\?token=[\w.-]+)?$/.test(url.slice(accountUrl.length));

  const writeNotice = async ({ user, email, url, ...notice }: NoticeJob) => {
    const recipient = await findRecipient(db, user);
    const to = email ?? (recipient?.status === 'active' ? recipient.email : null);
    if (to === null) return undefined;
    const subject = recipient && ({ scope: 'not-me', userId: user, state: notMeStateOf(recipient) } as const);
    const link = subject ? linkWith(url, linkTokens.issueDistinct(subject, notMeLifetime)) : null;
    return render('notice', to, recipient, { url: link, notice });
  };

  /** This email contains no text that was entered in the registration form, and its link confirms nothing. */
  const writeAccountExists = async (owner: Recipient | undefined) => {
    if (!owner?.email || !isApplicable.account_exists(owner)) return undefined;
    const passwordUrl = owner.provider === 'default' ? pages.newPassword : null;
    return render('account_exists', owner.email, owner, { url: pages.login, passwordUrl });
  };

  /** @param state the state that the link is bound to */
  const writeLink = async (
    kind: LinkMailKind,
    recipient: Recipient,
    base: string,
    state: LinkSubject['state'],
    content: Partial<Pick<MailInput, 'inviter'>> = {},
  ) => {
    const validFor = lifetimes[kind];
    const url = linkWith(base, linkTokens.issue({ scope: scopeOf[kind], userId: recipient.id, state }, validFor));
    // The address is the stored one, not the one that was typed.
    return recipient.email === null
      ? undefined
      : render(kind, recipient.email, recipient, { ...content, url, validFor });
  };

  /** Whether the settings allow this user to register now. If not, no earlier registration is sent again. */
  const mayRegister = async ({ id }: Recipient) => {
    const { public_registration: isOn, public_registration_email_filter: filter } = await readSettings(db);
    return isOn && matchesRegistrationFilter(db, id, filter);
  };

  /** @param id id of a new registration; undefined: the latest one is sent again */
  const writeRegistration = async (recipient: Recipient | undefined, id?: string): Promise<WrittenMail | undefined> => {
    if (!recipient || !isApplicable.registration(recipient)) return undefined;
    if (id === undefined && !(await mayRegister(recipient))) return undefined;
    const now = clock();
    const pending = await readRegistrations(db, recipient.id, now);
    const registration = id === undefined ? pending[0] : pending.find((one) => one.id === id);
    if (!registration) return undefined;
    const state = stateOfRegistration(recipient, registration.id);
    const written = await writeLink('registration', recipient, registration.url ?? pages.verifyEmail, state);
    // The registration must exist for as long as the link in this email can be used.
    const store = async () => {
      await extendRegistration(db, registration.id, new Date(now.getTime() + lifetimes.registration));
      return 'stored' as const;
    };
    return written && { ...written, store };
  };

  const writeReset = async (typed: string, url: string) => {
    const recipient = await findRecipientByEmail(db, typed);
    // A user who has registered but not verified the address yet needs the verification link instead.
    if (!recipient || !isApplicable.reset(recipient)) return writeRegistration(recipient);
    return writeLink('reset', recipient, url, linkStateOf(recipient));
  };

  const writeInvitation = async (recipient: Recipient | undefined, url: string, invitedBy: string | null = null) => {
    if (!recipient || !isApplicable.invite(recipient)) return undefined;
    const user = invitedBy === null ? undefined : await findRecipient(db, invitedBy);
    const inviter = user && { email: user.email, first_name: user.firstName, last_name: user.lastName };
    return writeLink('invite', recipient, url, linkStateOf(recipient), { ...(inviter && { inviter }) });
  };

  const writeEmailChange = async (job: EmailChangeJob) => {
    const user = await findRecipient(db, job.user);
    const change = await findEmailChange(db, job.user);
    if (user?.status !== 'active' || change?.id !== job.change) return undefined;
    const owner = await findRecipientByEmail(db, change.email);
    if (owner && owner.id !== user.id && !owner.isUnclaimed) return writeAccountExists(owner);
    const validFor = lifetimes.email_change;
    const subject = { scope: 'email-change', userId: user.id, state: changeStateOf(user, change.id) } as const;
    const url = linkWith(job.url, linkTokens.issue(subject, validFor));
    return render('email_change', change.email, user, { url, validFor });
  };

  const writeEmailChangeNotice = async (job: EmailChangeNoticeJob) => {
    const user = await findRecipient(db, job.user);
    if (!user?.email || user.email !== job.email || user.status !== 'active') return undefined;
    const validFor = lifetimes.email_change;
    const subject = { scope: 'email-change-cancel', userId: user.id, state: cancelStateOf(user) } as const;
    const url = linkWith(job.url, linkTokens.issue(subject, validFor));
    return render('email_change_notice', user.email, user, { url, validFor });
  };

  /**
   * @param purpose what the code is for
   * @param base the page for the link; null: the email has no link
   */
  const writeCode = async (
    { kind, binding, requestedAt }: EmailLoginJob | EmailCodeJob,
    user: Recipient | undefined,
    purpose: 'login' | 'reauthentication',
    base: string | null,
    redirect: string | null = null,
  ): Promise<WrittenMail | undefined> => {
    const requested = new Date(requestedAt);
    const expiresAt = new Date(requested.getTime() + emailCodeLifetime);
    const left = expiresAt.getTime() - clock().getTime();
    if (!user?.email || !isApplicable[kind](user) || left <= 0) return undefined;
    const { code, codeHash, token, tokenHash } = emailCodes.create(purpose, user.id);
    const row = {
      user: user.id,
      purpose,
      codeHash,
      tokenHash: base === null ? null : tokenHash,
      bindingHash: binding,
      attemptsLeft: maxWrongCodes,
      usedLinks: user.usedLinks,
      redirect,
      requestedAt: requested,
      expiresAt,
    };
    // The email is sent seconds after the request, so rounding down would give one minute too few.
    const validFor = Math.max(Math.round(left / minute), 1) * minute;
    const url = base === null ? null : linkWith(base, token);
    const written = await render(kind, user.email, user, { code, url, validFor });
    const store = (isKnown: boolean) => storeEmailCode(db, row, isKnown ? maxPending : maxUnfamiliarPending, clock());
    return { ...written, store };
  };

  const writeEmailLogin = async (job: EmailLoginJob): Promise<WrittenMail | undefined> => {
    const user = await findRecipientByEmail(db, job.email);
    // As with a password reset, users who have not verified their address yet get the verification link instead.
    if (!user || !isApplicable.email_login(user)) return writeRegistration(user);
    return writeCode(job, user, 'login', job.url, job.redirect);
  };

  const write = async (job: MailJob): Promise<WrittenMail | undefined> => {
    switch (job.kind) {
      case 'notice':
        return writeNotice(job);
      case 'account_exists':
        return writeAccountExists(await findRecipient(db, job.user));
      case 'email_change':
        return writeEmailChange(job);
      case 'email_change_notice':
        return writeEmailChangeNotice(job);
      case 'invite':
        return writeInvitation(await findRecipient(db, job.user), job.url, job.invitedBy);
      case 'reset':
        return writeReset(job.email, job.url);
      case 'email_login':
        return writeEmailLogin(job);
      case 'email_code':
        return writeCode(job, await findRecipient(db, job.user), 'reauthentication', null);
      case 'registration':
        return 'email' in job
          ? writeRegistration(await findRecipientByEmail(db, job.email))
          : writeRegistration(await findRecipient(db, job.user), job.registration);
    }
  };

  /** Counts the email once, however many attempts there are to send it. @returns the limit that it exceeds */
  const exceededLimit = async ({ data, attempt }: Job<MailJob>, kind: MailKind, to: string, isKnown: boolean) => {
    if (attempt > 1) return null;
    if (data.kind === 'notice' && data.email === null) {
      return (await rateLimits.mayAlert(data.changes.join(), data.user)) ? null : 'alerts';
    }
    if (data.kind === 'notice') return !data.isOwn || (await rateLimits.mayNotify(to)) ? null : 'notices';
    const { requestedFrom } = data;
    if (requestedFrom === undefined) return null;
    return rateLimits.exceededByMail({ kind, to, network: isKnown ? null : requestedFrom });
  };

  const drop = (id: string, kind: MailKind, limit: MailLimit, reason = dropReasons[limit]): DroppedMail => {
    onTooMany(id, kind, limit);
    return { limit, reason };
  };

  return {
    deliver: async (job) => {
      const { id, data } = job;
      if (data.isOverLimit) return drop(id, data.kind, 'network', tooManyRequested);
      const written = await write(data);
      if (!written) return withoutRecipient;
      const { kind, store, user, ...mail } = written;
      if (user !== undefined && !('user' in data)) await storeRecipient(db, databaseConnection.schemas, id, user);
      const isKnown = data.requestedFrom !== undefined && (await isFamiliar(mail.to, data));
      const exceeded = await exceededLimit(job, kind, mail.to, isKnown);
      if (exceeded) return drop(id, kind, exceeded);
      // After the limits, so that an email that is not sent neither voids the previous code nor extends a registration.
      const stored = (await store?.(isKnown)) ?? 'stored';
      if (stored === 'too many') return drop(id, kind, 'pending');
      if (stored === 'outdated') return outdated;
      await transport.send({ ...mail, messageId: `<${id}@${domain}>` });
    },
  };
}

const withoutRecipient: DroppedMail = { limit: null, reason: 'No user can use this email, or it is no longer needed.' };
const outdated: DroppedMail = { limit: null, reason: 'A newer email was sent in its place.' };

const tooManyRequested =
  'Too many emails were requested from one network. Further requests from this network are not listed for a while.';

const dropReasons: Readonly<Record<MailLimit, string>> = {
  network: 'Too many emails of this kind were requested from one network.',
  mailbox: 'Too many emails of this kind were sent to this address.',
  notices: 'Too many notices of changes to their own account were sent to this user.',
  alerts: 'A notice of this kind was sent to this user recently.',
  pending: 'Too many codes for this user can still be used.',
};

/** How many codes of a user can be used at the same time. With the limits on emails, there are never that many. */
const maxPending = 100;
/** The same, as far as requests from browsers and networks count from which the user has not signed in before. */
const maxUnfamiliarPending = 50;

const minute = 60_000;

/** How long the link in a notice can be used, in milliseconds. */
const notMeLifetime = 7 * 24 * 60 * minute;

/** An email that can be sent. */
interface WrittenMail extends RenderedMail {
  kind: MailKind;
  to: string;
  /** Undefined: the user no longer exists. */
  user: string | undefined;
  /** Stores what the email contains, so that it can be used. The email must be sent only if it is stored. */
  store?: (isFamiliar: boolean) => ReturnType<typeof storeEmailCode>;
}

/** Kinds of email that go only to users with an account. Other kinds go to addresses that another person may have entered. */
const kindsWithNames: ReadonlySet<MailKind> = new Set([
  'notice',
  'email_change_notice',
  'account_exists',
  'email_login',
  'email_code',
]);

/** Adds the token to the URL as a query parameter, and keeps the fragment and all other parameters. Replaces an existing `token`. */
export function linkWith(base: string, token: string): string {
  const url = new URL(base);
  if (url.searchParams.has('token')) url.searchParams.delete('token');
  const separator = url.search === '' ? '?' : '&';
  url.search += `${separator}token=${token}`;
  return url.href;
}
