import { ApiFailure } from '../kit/api-failure.js';
import { callSignedIn } from '../kit/signed-in-api.js';
import { readIdentities } from './identities.js';
import { page } from './page-data.js';

/** What users can read of their own account without any permissions. */
export interface Me {
  id: string;
  email: string | null;
  email_verified: boolean;
  pending_email: string | null;
  first_name: string | null;
  last_name: string | null;
  language: string | null;
  tfa_enabled: boolean;
  recovery_codes_left: number;
  has_password: boolean;
  passkeys: number;
  providers: string[];
}

export interface OwnAccount {
  readonly me: Me;
  /** Whether the user must set up a second factor, or confirm their identity with the one they have, before anything else. */
  readonly mustSetUpTfa: boolean;
  /** The key of the provider that manages the user, who can sign in only with it; undefined: none does. */
  readonly managedBy: string | undefined;
  /** Whether the user can manage their own profile, address and data. */
  readonly hasSelfService: boolean;
  /** Reads the account again, after an action has changed it, and draws it. */
  refresh(): Promise<void>;
}

/** Whether the user has a password, or can set one to sign in with: an address is then required as well. */
export const canHavePassword = ({ me, managedBy }: OwnAccount): boolean =>
  me.has_password || (page.offers.passwordLogin && managedBy === undefined && me.email !== null);

const readMe = async (): Promise<Me> => (await callSignedIn<{ data: Me }>('GET', '/users/me/profile')).data;

/**
 * @param draw displays the account, now and after every change
 * @throws {ApiFailure}
 */
export async function readOwnAccount(draw: (account: OwnAccount) => void): Promise<OwnAccount> {
  const [me, rights] = await Promise.all([readMe(), readRights()]);
  const account = {
    me,
    mustSetUpTfa: rights === undefined,
    managedBy: await readManager(me),
    hasSelfService: rights !== undefined && (page.offers.selfService || rights.admin_access),
    refresh: async () => {
      account.me = await readMe();
      draw(account);
    },
  };
  draw(account);
  return account;
}

/** Undefined: the user must set up or prove a second factor first, and until then can read little else. */
async function readRights(): Promise<{ admin_access: boolean } | undefined> {
  try {
    return (await callSignedIn<{ data: { admin_access: boolean } }>('GET', '/policies/me/globals')).data;
  } catch (failure) {
    if (!(failure instanceof ApiFailure) || failure.code !== 'FORBIDDEN') throw failure;
    return undefined;
  }
}

/** The key of the provider that manages the user. A provider that the user only linked in addition does not. */
async function readManager({ providers }: Me): Promise<string | undefined> {
  const managing = page.providers.filter(({ name, managed }) => managed && providers.includes(name));
  if (managing.length === 0) return undefined;
  try {
    return (await readIdentities()).find((identity) => identity.managed)?.provider;
  } catch (failure) {
    if (!(failure instanceof ApiFailure) || failure.code !== 'FORBIDDEN') throw failure;
    // The user must set up two-factor authentication first.
    return managing[0]?.name;
  }
}
