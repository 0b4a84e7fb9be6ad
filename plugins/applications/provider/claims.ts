import type { Account, FindAccount } from 'oidc-provider';
import { findClaims } from '../../../db/queries/applications/sign-ins.js';
import { settingsOf } from './clients.js';
import type { ProviderServices } from './exchange.js';

/** The claims that each scope returns (OpenID Connect Core, 5.4). */
export const claimsByScope = {
  openid: ['sub', 'auth_time', 'acr', 'amr'],
  profile: ['name', 'given_name', 'family_name', 'locale', 'picture', 'updated_at'],
  email: ['email', 'email_verified'],
  roles: ['roles'],
  groups: ['groups'],
  acr: null,
  sid: null,
  auth_time: null,
  iss: null,
};

/** Scopes without any claims about the user. */
const withoutClaims = new Set(['openid', 'offline_access']);

/** Reads the claims about users. Whether a user is active was read together with the session or the token. */
export function createFindAccount({ db }: ProviderServices): FindAccount {
  return (ctx, user): Account => ({
    accountId: user,
    claims: async (use, scope) => {
      const isMinimal = use === 'id_token' && ctx.oidc.client && settingsOf(ctx.oidc.client).minimal_id_token;
      if (isMinimal || scope.split(' ').every((each) => withoutClaims.has(each))) return { sub: user };
      return { sub: user, ...(await findClaims(db, user)) };
    },
  });
}
