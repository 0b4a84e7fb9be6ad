export type Confirmation = { email: string; proof: 'none' | 'password' } | { reason: string };

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
  /** Whether there is a session cookie, valid or not. */
  hasSession: boolean;
  offers: {
    passwordLogin: boolean;
    providers: boolean;
    twoFactor: boolean;
    /** Whether users who are not administrators can manage their own profile, address and data. */
    selfService: boolean;
    selfDeletion: boolean;
  };
  verifiesEmail: boolean;
  /** What is needed to confirm the registration that a link is for, or why it cannot be confirmed. */
  confirmation?: Confirmation;
  reason?: string;
  /** What the user has just done, for the sign-in page to display. */
  notice?: 'signed-out' | 'deleted';
  texts: Record<string, string>;
}

export const page = JSON.parse(document.getElementById('page-data')?.textContent ?? '{}') as PageData;
