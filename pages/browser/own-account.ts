import { callSignedIn } from './api.js';
import { ApiFailure } from './api-failure.js';

/** The current user, as far as they may read themselves. */
export interface Me {
  id: string;
  email?: string | null;
  first_name?: string | null;
  last_name?: string | null;
  language?: string | null;
  /** Concealed; null when two-factor authentication is off. */
  tfa_secret?: string | null;
  provider?: string;
}

export interface OwnAccount {
  me: Me;
  /** Whether nothing else is allowed before two-factor authentication is set up. */
  mustSetUpTfa: boolean;
  /** Whether a policy demands it of who has set it up but may not turn it off: they may make recovery codes all the same. */
  isTfaDemanded: boolean;
  /** Whether the user may change this field of theirs, as far as their permissions tell. */
  mayUpdate(field: string): boolean;
}

interface Permissions {
  users?: { update?: { access: 'none' | 'partial' | 'full'; fields?: string[] } };
}

/** @throws {ApiFailure} */
export async function readOwnAccount(): Promise<OwnAccount> {
  const { data: me } = await callSignedIn<{ data: Me }>('GET', '/users/me');
  try {
    const { data } = await callSignedIn<{ data: Permissions }>('GET', '/permissions/me');
    const { access = 'none', fields = [] } = data.users?.update ?? {};
    const mayUpdate = (field: string) => access !== 'none' && (fields.includes('*') || fields.includes(field));
    const isTfaDemanded = Boolean(me.tfa_secret) && !mayUpdate('tfa_secret') && (await demandsTfa());
    return { me, mustSetUpTfa: false, isTfaDemanded, mayUpdate };
  } catch (failure) {
    // Who must set up two-factor authentication first may ask for nothing but themselves.
    if (!(failure instanceof ApiFailure) || failure.code !== 'FORBIDDEN') throw failure;
    return { me, mustSetUpTfa: true, isTfaDemanded: true, mayUpdate: () => false };
  }
}

async function demandsTfa(): Promise<boolean> {
  const { data } = await callSignedIn<{ data: { enforce_tfa: boolean } }>('GET', '/policies/me/globals');
  return data.enforce_tfa;
}
