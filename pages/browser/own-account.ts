import { ApiFailure } from './api-failure.js';
import { page } from './page-data.js';
import { callSignedIn } from './signed-in-api.js';

/** What users can read of their own account without any permissions. */
export interface Me {
  id: string;
  email: string | null;
  pending_email: string | null;
  first_name: string | null;
  last_name: string | null;
  language: string | null;
  tfa_enabled: boolean;
  has_password: boolean;
}

export interface OwnAccount {
  me: Me;
  /** Whether the user must set up two-factor authentication before anything else. */
  mustSetUpTfa: boolean;
  /** Whether the user can manage their own profile, address and data. */
  hasSelfService: boolean;
}

/** @throws {ApiFailure} */
export const readMe = async (): Promise<Me> => (await callSignedIn<{ data: Me }>('GET', '/users/me/profile')).data;

/** @throws {ApiFailure} */
export async function readOwnAccount(): Promise<OwnAccount> {
  const me = await readMe();
  try {
    const { data } = await callSignedIn<{ data: { admin_access: boolean } }>('GET', '/policies/me/globals');
    return { me, mustSetUpTfa: false, hasSelfService: page.offers.selfService || data.admin_access };
  } catch (failure) {
    // Users who must set up two-factor authentication first can read nothing else.
    if (!(failure instanceof ApiFailure) || failure.code !== 'FORBIDDEN') throw failure;
    return { me, mustSetUpTfa: true, hasSelfService: false };
  }
}
