export interface Provider {
  name: string;
  label: string;
  icon: string;
  /** Whether users can sign in with it on these pages, because its sessions use `session` mode. */
  session: boolean;
  /** Whether it manages its users, who then cannot sign in any other way. */
  managed: boolean;
}

/** Whose link was opened, and what it requires, or why it cannot be used. */
export type Link = { email: string; proof?: 'none' | 'password'; redirect?: string } | { reason: string };

export type SessionMode = 'session' | 'cookie';

/** The data that the service passes to the scripts of a page. */
export interface PageData {
  page: string;
  /** The language of the page, as a BCP 47 tag. */
  language: string;
  /** The path of the service, without a trailing slash. */
  base: string;
  links: { account: string; login: string };
  /** Where to go after signing in. The service has checked that it is one of these pages. */
  redirect: string;
  /**
   * The modes whose cookie the browser has, valid or not: `session` for users who signed in on these pages, `cookie` for users of an
   * application in `cookie` mode.
   */
  sessionModes: readonly SessionMode[];
  offers: {
    passwordLogin: boolean;
    providers: boolean;
    twoFactor: boolean;
    /** Signing in with a code or a link from an email. */
    emailLogin: boolean;
    passkeys: boolean;
    /** Whether users who are not administrators can manage their own profile, address and data. */
    selfService: boolean;
    selfDeletion: boolean;
  };
  /** All providers of the installation. */
  providers: readonly Provider[];
  /** The domain on which passkeys work; null if they are turned off. */
  passkeyDomain: string | null;
  passwordMinLength: number;
  verifiesEmail: boolean;
  /** For a page that a link in an email opens. */
  link?: Link;
  reason?: string;
  /** What the user has just done, for the sign-in page to display. */
  notice?: 'signed-out' | 'deleted' | 'verified';
  texts: Record<string, string>;
}

export const page = JSON.parse(document.getElementById('page-data')?.textContent ?? '{}') as PageData;
