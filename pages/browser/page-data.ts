/** What the service hands over to the scripts of a page. */
export interface PageData {
  page: string;
  /** The language of the page, as a BCP 47 tag. */
  language: string;
  /** The path of the service, without a slash at the end. */
  base: string;
  links: { account: string; login: string };
  /** Where to go after signing in; the service has made sure that it is a path of its own origin. */
  redirect: string;
  /** Whether there is a session cookie, be it of any use or none. */
  hasSession: boolean;
  offers: { passwordLogin: boolean; providers: boolean; twoFactor: boolean };
  verifiesEmail: boolean;
  reason?: string;
  isSignedOut: boolean;
  texts: Record<string, string>;
}

export const page = JSON.parse(document.getElementById('page-data')?.textContent ?? '{}') as PageData;
