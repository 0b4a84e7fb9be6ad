import { callSignedIn } from '../kit/signed-in-api.js';

/** An account at a provider that is linked to the user. */
export interface Identity {
  id: string;
  provider: string;
  external_identifier: string;
  email: string | null;
  primary: boolean;
  /** Whether the provider determines the user's role, so that no account can be unlinked. */
  managed: boolean;
  created_at: string;
  last_used_at: string | null;
}

export const readIdentities = async () =>
  (await callSignedIn<{ data: Identity[] }>('GET', '/users/me/identities')).data;
