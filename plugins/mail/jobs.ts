import type { ResetReport } from '../activity/service.js';
import type { Client } from '../http/caller.js';

/** Changes to an account's credentials, and suspicious sign-ins, that its user is notified of. */
export const securityChanges = [
  'new_sign_in',
  'wrong_code',
  'failed_logins',
  'password_changed',
  'email_changed',
  'token_set',
  'tfa_enabled',
  'tfa_disabled',
  'recovery_code_used',
  'recovery_codes_made',
  'passkey_added',
  'passkey_removed',
  'provider_linked',
  'provider_unlinked',
  'provider_changed',
] as const;

export type SecurityChange = (typeof securityChanges)[number];

/** The content of a notice about changes to an account. */
export interface Notice {
  changes: [SecurityChange, ...SecurityChange[]];
  /** Time of the changes in ISO 8601. */
  at: string;
  /**
   * Whether the changes were made as the user: by the user, or by another person with access to the account. False for an
   * administrator.
   */
  isOwn: boolean;
  /** Browser and operating system of the user; null: unknown. */
  device: string | null;
  /** Display name of the provider that a change is about. */
  provider: string | null;
  /** After a password reset: what it removed, and what can still be used. */
  reset?: ResetReport;
}

/** Sends a notice to a user. */
export interface NoticeJob extends Notice, RequestOrigin {
  kind: 'notice';
  user: string;
  /**
   * The user's address before the change, because an attacker who has taken over the account may have set another one. Null for a
   * sign-in: the notice goes to the stored address, if there is such a user.
   */
  email: string | null;
  /** The page where the user can end all sessions and request a new password. */
  url: string;
}

/** Informs users that someone tried to register their address, which already has an account. */
export interface AccountExistsJob extends RequestOrigin {
  kind: 'account_exists';
  user: string;
}

/** An email with a token in its link. */
export type LinkMailJob =
  /** @property invitedBy the user who invites; absent or null: it is not known */
  (
    | { kind: 'invite'; user: string; url: string; invitedBy?: string | null }
    /** The link of this registration. */
    | { kind: 'registration'; user: string; registration: string }
    /** The link of the latest registration of an address. The service looks it up when it sends the email. */
    | { kind: 'registration'; email: string }
    /** Requested by a caller who knows only an address. The service looks up the user, if there is one, when it sends the email. */
    | { kind: 'reset'; email: string; url: string }
  ) &
    RequestOrigin;

/** Data that every job can contain about the request that created it. */
export interface RequestOrigin {
  /**
   * The network of the caller (`client.network`), for emails that anyone who knows an address can request. Such emails are limited:
   * see {@link Mail.enqueue}. Absent: the email is always sent.
   */
  requestedFrom?: string;
  /** The cookie of the browser that requested the email (`client.browser`). */
  browser?: string;
  /** Whether too many emails have been requested from the network. The email is not sent, and the queue keeps it as dropped. */
  isOverLimit?: true;
}

/** The origin of a request for an email, for its job. */
export const originOf = ({ network, browser }: Pick<Client, 'network' | 'browser'>): RequestOrigin => ({
  requestedFrom: network,
  ...(browser === undefined ? {} : { browser }),
});

/**
 * Sends a link to a new address to confirm it. If another user has the address when the email is sent, the email informs them
 * that they already have an account.
 */
export interface EmailChangeJob extends RequestOrigin {
  kind: 'email_change';
  user: string;
  /** Id of the request for the change. */
  change: string;
  /** The new address. */
  email: string;
  url: string;
}

/** Notifies the old address, with a link to cancel the change. */
export interface EmailChangeNoticeJob extends RequestOrigin {
  kind: 'email_change_notice';
  user: string;
  /** The old address. */
  email: string;
  url: string;
}

/** Data of every request for a code. */
interface CodeRequested extends RequestOrigin {
  /** HMAC of what identifies the requester (`EmailCodes.bindingHashes`). */
  binding: string;
  /** Time of the request in ISO 8601. The code is valid for a limited time from then on. */
  requestedAt: string;
}

/** Sends a code and a link to sign in. The service looks up the user, if there is one, when it sends the email. */
export interface EmailLoginJob extends CodeRequested {
  kind: 'email_login';
  email: string;
  /** The page that the link opens. */
  url: string;
  /** The account page that opens after a login with the link. It is stored with the request, and does not appear in the email. */
  redirect?: string;
}

/** Sends a code with which a signed-in user proves their identity again. */
export interface EmailCodeJob extends CodeRequested {
  kind: 'email_code';
  user: string;
}

/** An email as it waits in the queue. */
export type MailJob =
  | LinkMailJob
  | AccountExistsJob
  | NoticeJob
  | EmailChangeJob
  | EmailChangeNoticeJob
  | EmailLoginJob
  | EmailCodeJob;

export type MailKind = MailJob['kind'];
export type LinkMailKind = LinkMailJob['kind'];
