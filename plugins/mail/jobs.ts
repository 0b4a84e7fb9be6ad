import type { ResetReport } from '../activity/service.js';

/** What of an account's credentials was changed or used up, as far as its user is told. */
export const securityChanges = [
  'password_changed',
  'email_changed',
  'token_set',
  'tfa_enabled',
  'tfa_disabled',
  'recovery_code_used',
  'recovery_codes_made',
  'provider_linked',
  'provider_unlinked',
  'provider_changed',
] as const;

export type SecurityChange = (typeof securityChanges)[number];

/** What has happened to an account. */
export interface Notice {
  changes: [SecurityChange, ...SecurityChange[]];
  /** ISO 8601. */
  at: string;
  /** Whether it was the user, or somebody who was signed in as them. */
  isOwn: boolean;
  /** Browser and system of the user, as far as they are known. */
  device: string | null;
  /** What people call the provider that it is about. */
  provider: string | null;
  /** After a password reset: what it has removed, and what can still be used. */
  reset?: ResetReport;
}

/** Tells a user of it. */
export interface NoticeJob extends Notice, Requested {
  kind: 'notice';
  user: string;
  /** Their address until then: whoever has taken the account over may have put in another since. */
  email: string;
  /** Where a new password can be asked for; null: nowhere with this address. */
  url: string | null;
}

/** Says that an address which someone has registered has an account already. */
export interface AccountExistsJob extends Requested {
  kind: 'account_exists';
  user: string;
}

/** An email with a token in its link. */
export type LinkMailJob = (
  | { kind: 'invite'; user: string; url: string }
  /** The link of this registration; of the latest of the user, as older jobs ask for. */
  | { kind: 'registration'; user: string; registration?: string }
  /** The link of the latest registration of an address, which is looked up when it is sent. */
  | { kind: 'registration'; email: string }
  /** Somebody asks for it who knows only an address; whose it is, if anybody's, is looked up when it is sent. */
  | { kind: 'reset'; email: string; url: string }
) &
  Requested;

/** What every job can say about the request that it comes from. */
export interface Requested {
  /**
   * The network of the caller (`client.network`), for an email that anyone can request who knows an address. Such emails are
   * limited: see {@link Mail.enqueue}. Absent: the email is always sent.
   */
  requestedFrom?: string;
}

/**
 * For a new address: a link to confirm it, or, when it is the address of another user by then, the news that they already have
 * an account.
 */
export interface EmailChangeJob extends Requested {
  kind: 'email_change';
  user: string;
  /** The request that it belongs to. */
  change: string;
  /** The new address. */
  email: string;
  url: string;
}

/** Notifies the old address, with a link to cancel the change. */
export interface EmailChangeNoticeJob extends Requested {
  kind: 'email_change_notice';
  user: string;
  /** The old address. */
  email: string;
  url: string;
}

/** A mail that is to be sent, as it waits in the queue: of whom it speaks, and where its link leads. */
export type MailJob = LinkMailJob | AccountExistsJob | NoticeJob | EmailChangeJob | EmailChangeNoticeJob;

export type MailKind = MailJob['kind'];
export type LinkMailKind = LinkMailJob['kind'];
