export type Confirmation = { email: string; proof: 'none' | 'password' } | { reason: string };

/** What the service hands over to the scripts of a page. */
export interface PageData {
  page: string;
  /** The language of the page, as a BCP 47 tag. */
  language: string;
  /** The path of the service, without a slash at the end. */
  base: string;
  links: { account: string; login: string };
  /** Where to go after signing in; the service has made sure that it is one of these pages. */
  redirect: string;
  /** Whether there is a session cookie, be it of any use or none. */
  hasSession: boolean;
  offers: {
    passwordLogin: boolean;
    providers: boolean;
    twoFactor: boolean;
    /** Whether users who are not administrators manage their own profile, address and data. */
    selfService: boolean;
    selfDeletion: boolean;
  };
  verifiesEmail: boolean;
  /** What confirming the registration of a link takes, or why it cannot be confirmed. */
  confirmation?: Confirmation;
  reason?: string;
  /** What has just been done, for the page for signing in to say. */
  notice?: 'signed-out' | 'deleted';
  texts: Record<string, string>;
}

export const page = JSON.parse(document.getElementById('page-data')?.textContent ?? '{}') as PageData;
