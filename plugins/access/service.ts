import { isDeepStrictEqual } from 'node:util';
import type { PolicyRecord } from '../../db/queries/access/principals.js';
import { ApiError } from '../../schemas/errors.js';
import { type Caller, type Client, type Principal, type Rights, rightsOf } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import type { CredentialResolver, Lookup, PresentedIn } from './credentials/resolver.js';
import { isEmptyRule, isUnlimited, ownRuleOf, ownRules, permissionsFor } from './permissions.js';

export interface Access {
  /**
   * Identifies the caller by the token of a credential. If there are several tokens, one valid token is enough.
   * @param ownFields fields of the caller's own row to read in the same query
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED, INVALID_CREDENTIALS
   */
  authenticate(tokens: readonly string[], client: Client, ownFields?: readonly string[]): Promise<Principal>;
  /** A caller without a credential. They have the rights that the public policy grants. */
  anonymous(client: Client): Promise<Caller>;
}

/** Maximum number of tokens of one request that are looked up in the database. */
const maxCandidates = 4;

/** @param resolvers one for each kind of credential. If a request has several tokens, those of the first kinds are tried first. */
export function createAccess({ principals }: Services, resolvers: readonly CredentialResolver[]): Access {
  const recognize = async (token: string): Promise<{ rank: number; lookUp: Lookup } | undefined> => {
    for (const [rank, resolver] of resolvers.entries()) {
      const lookUp = await resolver.recognize(token);
      if (lookUp) return { rank, lookUp };
    }
    return undefined;
  };

  const identify = async (lookUp: Lookup, client: Client, presented: PresentedIn): Promise<Principal> => {
    const holder = await lookUp(presented);
    if (holder?.user.status !== 'active') throw new ApiError('INVALID_CREDENTIALS');
    const { user, credential } = holder;
    const { ownFields } = presented;
    const rights = rightsOf(user, client.ip);
    const { admin, app, mustSetUpTfa, requiresTfa, satisfiesTfa, policies } = rights;
    // This runs for every request. The properties are listed one by one, because with a spread they would use three kilobytes.
    return {
      admin,
      app,
      mustSetUpTfa,
      requiresTfa,
      satisfiesTfa,
      policies,
      userId: user.id,
      role: user.role,
      roles: user.roles,
      credential,
      client,
      lastAccess: user.last_access,
      ownRow: ownFields && seesOwnRow({ ...rights, credential }, ownFields) ? user.own : undefined,
    };
  };

  return {
    authenticate: async (tokens, client, ownFields) => {
      const presented = { arrived: performance.now(), ownFields };
      const failures: ApiError[] = [];
      /** @returns undefined if the attempt has failed */
      const attempt = async <Result>(step: Promise<Result>): Promise<Result | undefined> => {
        try {
          return await step;
        } catch (error) {
          if (!(error instanceof ApiError) || error.status >= 500) throw error;
          failures.push(error);
          return undefined;
        }
      };
      const candidates = [];
      for (const token of tokens) {
        const candidate = await attempt(recognize(token));
        if (candidate) candidates.push(candidate);
      }
      // Signed tokens come first: an attacker cannot forge them to displace the valid one.
      candidates.sort((one, other) => one.rank - other.rank);
      for (const { lookUp } of candidates.slice(0, maxCandidates)) {
        const principal = await attempt(identify(lookUp, client, presented));
        if (principal) return principal;
      }
      throw failures.find(({ keepsCookie }) => keepsCookie) ?? failures.at(-1) ?? new ApiError('INVALID_CREDENTIALS');
    },

    anonymous: async (client) => anonymousCaller(await principals.publicPolicies(), client),
  };
}

/** @param policies the public policy, if there is one */
export function anonymousCaller(policies: readonly PolicyRecord[], client: Client): Caller {
  const rights = rightsOf({ has_tfa: true, policies }, client.ip);
  // An anonymous caller is never an administrator, whatever the public policy grants.
  return { ...rights, admin: false, userId: null, role: null, roles: [], credential: null, client };
}

/**
 * Whether it is certain, without a database query, that the caller may read these fields of their own row: a permission covers all
 * users or the caller's own user. If the result is false, the row may still match the rule of another permission.
 */
function seesOwnRow(caller: Rights & Pick<Caller, 'credential'>, fields: readonly string[]): boolean {
  if (isUnlimited(caller, 'users', 'read') || ownRuleOf(caller, 'users')) return true;
  const granted = permissionsFor(caller, 'users', 'read')
    .filter(({ permissions: rule }) => isEmptyRule(rule) || isDeepStrictEqual(rule, ownRules.users))
    .map(({ fields }) => new Set(fields));
  return fields.every((name) => granted.some((names) => names.has('*') || names.has(name)));
}
