import { createBatchReader } from '../../db/batch-reader.js';
import { createBoundedCache } from '../../db/bounded-cache.js';
import {
  type CreateHolderStatements,
  findGrantsOverview,
  findGrantsVersion,
  findPublicGrants,
  type GrantKey,
  type GrantsOverview,
  type GrantsRecord,
  type HolderRecord,
  holdersBySession,
  holdersByTokenHash,
  type PolicyRecord,
  type PrincipalRecord,
  type SessionPrincipalRecord,
} from '../../db/queries/access/principals.js';
import {
  type AccessTokenLimits,
  type AccessTokenRecord,
  holdersByAccessToken,
} from '../../db/queries/applications/access-tokens.js';
import type { Services } from '../platform/plugin.js';

/** The current users of credentials. Every call reads the database, so that a revocation applies to the next request. */
export interface Principals {
  /**
   * The user of a session, whatever the status of the session and the user.
   * @param ownFields fields of the user's own row to read in the same statement
   */
  ofSession(id: string, ownFields?: readonly string[]): Promise<SessionPrincipalRecord | undefined>;
  /** The user of a static token, whatever their status. */
  ofTokenHash(hash: string, ownFields?: readonly string[]): Promise<PrincipalRecord | undefined>;
  /** The user of an application's access token for the service's own API, if the token is valid, whatever the status of the user. */
  ofAccessToken(
    hash: string,
    ownFields?: readonly string[],
  ): Promise<(PrincipalRecord & { token: AccessTokenRecord }) | undefined>;
  /** The policies that apply to anonymous callers: the public policy, if there is one. */
  publicPolicies(): Promise<readonly PolicyRecord[]>;
  /** What all roles and policies grant. The same object as long as nothing has changed. */
  grantsOverview(): Promise<Readonly<GrantsOverview>>;
}

/**
 * Looking up a caller is cheap for two reasons. Requests that arrive at the same moment share a statement. And what roles and policies
 * grant is kept in memory: each request reads only the user, their session, and the version of all grants, which changes in the transaction
 * of every change to roles, policies, and permissions.
 */
export function createPrincipals({ db, clock, config }: Services): Principals {
  const grants = createGrantsCache();

  /** @param more the further values of the statements, at the time of a batch */
  const readerOf = <Holder extends HolderRecord, More extends Record<string, string | number | null>>(
    createStatements: CreateHolderStatements<Holder, More>,
    more: () => More,
  ) => {
    const createReader = (ownFields?: readonly string[]) => {
      const { findHolders, findPrincipals } = createStatements(ownFields);
      const readHolder = createBatchReader((keys) => findHolders(db, keys, more()));
      const readPrincipal = createBatchReader((keys) => findPrincipals(db, keys, more()));
      return async (key: string): Promise<(Holder & GrantsRecord) | undefined> => {
        const holder = await readHolder(key);
        const known = holder && grants.find(holder);
        if (!holder || known) return holder && Object.assign(holder, known);
        // Everything is read again, so that the user and the grants are from the same moment.
        const principal = await readPrincipal(key);
        return principal && Object.assign(principal, grants.keep(principal, principal));
      };
    };
    /** One for each set of fields, because each set has statements of its own. */
    const readers = createBoundedCache<ReturnType<typeof createReader>>(100);
    return (key: string, ownFields?: readonly string[]) => readers(`${ownFields}`, () => createReader(ownFields))(key);
  };

  const none = () => ({});
  const limits = (): AccessTokenLimits => ({ now: clock().toISOString(), maxAge: config.SESSION_MAX_AGE || null });
  const readVersion = createBatchReader(async ([key = '']) => new Map([[key, await findGrantsVersion(db)]]));

  let overview: GrantsOverview | undefined;

  return {
    ofSession: readerOf(holdersBySession, none),
    ofTokenHash: readerOf(holdersByTokenHash, none),
    ofAccessToken: readerOf(holdersByAccessToken, limits),
    publicPolicies: async () => {
      const nobody = { role: null, own_policies: [] };
      const known = grants.find({ ...nobody, version: (await readVersion('')) ?? null });
      if (known) return known.policies;
      const { version, list } = await findPublicGrants(db);
      return grants.keep({ ...nobody, version }, { roles: [], policies: list }).policies;
    },
    grantsOverview: async () => {
      const current = await readVersion('');
      if (overview === undefined || current == null || overview.version !== current)
        overview = await findGrantsOverview(db);
      return overview;
    },
  };
}

/** Maximum number of combinations of a role and policies that are kept in memory. */
const maxKept = 1_000;

/** The grants of one version. */
function createGrantsCache() {
  let current: string | null = null;
  const kept = new Map<string, GrantsRecord>();
  /** Many roles have the same policies, so each policy is kept once. */
  const policies = new Map<string, PolicyRecord>();
  const nameOf = ({ role, own_policies }: GrantKey) => `${role} ${own_policies}`;

  return {
    /** Grants of exactly this version. A version is never used twice, not even by a database that has lost transactions. */
    find: (key: GrantKey): GrantsRecord | undefined =>
      key.version !== null && key.version === current ? kept.get(nameOf(key)) : undefined,

    keep: (key: GrantKey, read: GrantsRecord): GrantsRecord => {
      if (key.version === null || key.version !== current || kept.size >= maxKept) {
        kept.clear();
        policies.clear();
      }
      current = key.version;
      const shared = read.policies.map((policy) => {
        const first = policies.get(policy.id) ?? deepFreeze(policy);
        policies.set(policy.id, first);
        return first;
      });
      const grants = Object.freeze({ roles: Object.freeze(read.roles), policies: Object.freeze(shared) });
      kept.set(nameOf(key), grants);
      return grants;
    },
  };
}

/** Prevents one request from changing what others see. */
function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}
