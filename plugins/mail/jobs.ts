/** A mail that is to be sent, as it waits in the queue: of whom it speaks, and where its link leads. */
export type MailJob =
  | { kind: 'invite' | 'registration'; user: string; url: string }
  /** Somebody asks for it who knows only an address; whose it is, if anybody's, is looked up when it is sent. */
  | { kind: 'reset'; email: string; url: string };

export type MailKind = MailJob['kind'];
