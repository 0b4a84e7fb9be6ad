import { type PageData, page as shared } from '../kit/page-data.js';

/** Whose link was opened, and what it requires, or why it cannot be used. */
export type Link = { email: string; proof?: 'none' | 'password'; redirect?: string } | { reason: string };

/** What `plugins/pages/sign-in.ts` adds. */
interface SignInData extends PageData {
  offers: PageData['offers'] & {
    /** Signing in with a code or a link from an email. */
    emailLogin: boolean;
  };
  /** Where to go after signing in. The service has checked that it is one of these pages, or `returnTo`. */
  redirect: string;
  /** The URL of an app to which the user returns. The service has checked its origin. */
  returnTo?: string;
  /** Whether the user is signed in, but must prove their identity again. */
  signsInAgain?: boolean;
  /** The email address that the application suggests. */
  loginHint?: string;
  /** Whether users must confirm their address after they register. */
  verifiesEmail: boolean;
  /** For a page that a link in an email opens. */
  link?: Link;
  /** What the user has just done, for the sign-in page to display. */
  notice?: 'signed-out' | 'deleted' | 'verified';
}

export const page = shared as SignInData;
