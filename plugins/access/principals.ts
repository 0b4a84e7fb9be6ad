import { createBatchReader } from '../../db/batch-reader.js';
import { createBoundedCache } from '../../db/bounded-cache.js';
import {
  type FindHolders,
  findGrants,
  findGrantsVersion,
  findHoldersBySession,
  findHoldersByTokenHash,
  type GrantsRecord,
  type HolderRecord,
  type PolicyRecord,
  type PrincipalRecord,
  type SessionRecord,
} from '../../db/queries/access/principals.js';
import type { Services } from '../platform/plugin.js';

/** The current users of credentials. Every call reads the database, so that a revocation applies to the next request. */
export interface Principals {
  /**
   * The user of a session, whatever the status of the session and the user.
   * @param ownFields fields of the user's own row to read in the same statement
   */
  ofSession(
    id: string,
    ownFields?: readonly string[],
  ): Promise<(PrincipalRecord & { session: SessionRecord }) | undefined>;
  /** The user of a static token, whatever their status. */
  ofTokenHash(hash: string, ownFields?: readonly string[]): Promise<PrincipalRecord | undefined>;
  /** The policies that apply to anonymous callers: the public policy, if there is one. */
  publicPolicies(): Promise<readonly PolicyRecord[]>;
}

/**
 * Two things make this cheap. Requests that wait at the same moment share a statement. And what a role and policies stand for is kept in
 * memory: each request reads only the user, their session, and the version of all grants, which changes in the transaction of every change
 * to roles, policies, and permissions.
 */
export function createPrincipals({ db }: Services): Principals {
  const grants = createGrantsCache();

  const readGrants = createBatchReader(async (names) => {
    const found = await findGrants(
      db,
      names.map((name) => JSON.parse(name)),
    );
    return new Map(found.map((read, index) => [names[index] ?? '', grants.keep(names[index] ?? '', read)]));
  });

  const grantsOf = async ({ role, own_policies, version }: Pick<HolderRecord, 'role' | 'own_policies' | 'version'>) => {
    const name = JSON.stringify({ role, own_policies });
    const found = grants.find(name, version) ?? (await readGrants(name));
    if (!found) throw new Error('A role and policies must have grants, even if they are empty.');
    return found;
  };

  const reader = <Holder extends HolderRecord>(find: FindHolders<Holder>) => {
    /** One for each set of fields, because each set has a statement of its own. */
    const readers = createBoundedCache<(key: string) => Promise<Holder | undefined>>(100);
    return async (key: string, ownFields?: readonly string[]) => {
      const read = readers(`${ownFields}`, () => createBatchReader((keys) => find(db, keys, ownFields)));
      const holder = await read(key);
      return holder && Object.assign(holder, await grantsOf(holder));
    };
  };

  const versions = createBatchReader(async ([key = '']) => new Map([[key, await findGrantsVersion(db)]]));

  return {
    ofSession: reader(findHoldersBySession),
    ofTokenHash: reader(findHoldersByTokenHash),
    publicPolicies: async () => {
      const version = (await versions('')) ?? null;
      return (await grantsOf({ role: null, own_policies: [], version })).policies;
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

  const clear = () => {
    kept.clear();
    policies.clear();
  };

  return {
    /** Grants of exactly this version. A version is never used twice, not even by a database that has lost some. */
    find: (name: string, version: string | null) =>
      version !== null && version === current ? kept.get(name) : undefined,

    keep: (name: string, { version, ...read }: GrantsRecord & { version: string | null }): GrantsRecord => {
      if (version !== current || kept.size >= maxKept) clear();
      current = version;
      const shared = read.policies.map((policy) => {
        const first = policies.get(policy.id) ?? deepFreeze(policy);
        policies.set(policy.id, first);
        return first;
      });
      const grants = Object.freeze({ roles: Object.freeze(read.roles), policies: Object.freeze(shared) });
      kept.set(name, grants);
      return grants;
    },
  };
}

/** Prevents that one request changes what others see. */
function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}
