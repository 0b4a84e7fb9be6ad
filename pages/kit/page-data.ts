export interface Provider {
  name: string;
  label: string;
  icon: string;
  /** Whether users can sign in with it on these pages, because its sessions use `session` mode. */
  session: boolean;
  /** Whether it manages its users, who then cannot sign in any other way. */
  managed: boolean;
}

export type SessionMode = 'session' | 'cookie';

/** The data that the service passes to the scripts of every page. An application adds its own in its `page-data.ts`. */
export interface PageData {
  /** The name of its template. */
  page: string;
  /** The language of the page, as a BCP 47 tag. */
  language: string;
  /** The path of the service, without a trailing slash. */
  base: string;
  links: { account: string; login: string };
  /**
   * The modes whose cookie the browser has, valid or not: `session` for users who signed in on these pages, `cookie` for users of an
   * application in `cookie` mode.
   */
  sessionModes: readonly SessionMode[];
  /** The features that the configuration enables. */
  offers: {
    passwordLogin: boolean;
    providers: boolean;
    twoFactor: boolean;
    passkeys: boolean;
  };
  /** All providers of the installation. */
  providers: readonly Provider[];
  /** The domain on which passkeys work; null if they are turned off. */
  passkeyDomain: string | null;
  passwordMinLength: number;
  /** Why the provider from which the user returned could not do what it was asked for. */
  reason?: string;
  texts: Record<string, string>;
}

export const page = JSON.parse(document.getElementById('page-data')?.textContent ?? '{}') as PageData;
