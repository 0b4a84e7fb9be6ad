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
}

/** Tells a user of it. */
export interface NoticeJob extends Notice {
  kind: 'notice';
  user: string;
  /** Their address until then: whoever has taken the account over may have put in another since. */
  email: string;
  /** Where a new password can be asked for; null: nowhere with this address. */
  url: string | null;
}

/** A mail with a token in its link. */
export type LinkMailJob =
  | { kind: 'invite' | 'registration'; user: string; url: string }
  /** Somebody asks for it who knows only an address; whose it is, if anybody's, is looked up when it is sent. */
  | { kind: 'reset'; email: string; url: string };

/** A mail that is to be sent, as it waits in the queue: of whom it speaks, and where its link leads. */
export type MailJob = LinkMailJob | NoticeJob;

export type MailKind = MailJob['kind'];
export type LinkMailKind = LinkMailJob['kind'];
