import type { Executor } from '../../db/client.js';
import {
  findPrincipalBySession,
  findPrincipalByTokenHash,
  findPublicPolicies,
  type PrincipalRecord,
  type SessionPrincipalRecord,
} from '../../db/queries/access/principals.js';
import { ApiError } from '../../schemas/errors.js';
import { tokenStatusOf } from '../auth/sessions/standing.js';
import { type Clock, clockOffset } from '../platform/clock.js';
import { type Caller, type Client, type Principal, type Rights, rightsOf } from '../server/caller.js';
import type { AccessTokens } from '../tokens/access-tokens.js';
import { hashToken } from '../tokens/refresh-tokens.js';

export interface Access {
  /**
   * Identifies the caller by an access token or a static token. If there are several tokens, one valid token is enough.
   * @param ownFields fields of the caller's own row to read in the same query
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED, INVALID_CREDENTIALS
   */
  authenticate(tokens: readonly string[], client: Client, ownFields?: readonly string[]): Promise<Principal>;
  /** A caller without a credential. They have the rights that the public policy grants. */
  anonymous(client: Client): Promise<Caller>;
}

/** Maximum number of tokens of one request that are looked up in the database. */
const maxCandidates = 4;

type Found = PrincipalRecord & Partial<Pick<SessionPrincipalRecord, 'session'>>;

export function createAccess(deps: {
  db: Executor;
  accessTokens: AccessTokens;
  clock: Clock;
  gracePeriod: number;
}): Access {
  const { db, accessTokens, clock, gracePeriod } = deps;

  /**
   * The user and session behind a token.
   * @throws {ApiError} INVALID_CREDENTIALS when the session has ended or expired, or when the token is a session cookie that
   * was replaced; INVALID_TOKEN, TOKEN_EXPIRED
   */
  const find = async (token: string, arrived: number, ownFields?: readonly string[]): Promise<Found | undefined> => {
    const claims = await accessTokens.verify(token);
    if (!claims) return findPrincipalByTokenHash(db, hashToken(token), ownFields);
    const found = await findPrincipalBySession(db, claims.session, ownFields);
    if (found?.id !== claims.id || found.session.expires_at <= clock().getTime()) return undefined;
    if (claims.generation === undefined) return found;
    const waited = performance.now() - arrived;
    const standing = tokenStatusOf(claims.generation, found.session, {
      waited,
      shift: clockOffset(clock),
      gracePeriod,
    });
    if (standing === 'older') throw new ApiError('INVALID_CREDENTIALS').keepingCookie();
    return standing === 'current' || standing === 'replaced' ? found : undefined;
  };

  const authenticate = async (token: string, client: Client, ownFields?: readonly string[]): Promise<Principal> => {
    const found = await find(token, performance.now(), ownFields);
    if (found?.status !== 'active') throw new ApiError('INVALID_CREDENTIALS');
    const rights = rightsOf(found, client.ip);
    const { admin, app, mustSetUpTfa, requiresTfa, satisfiesTfa, policies } = rights;
    // This runs for every request. The properties are listed one by one, because with a spread they would use three kilobytes.
    return {
      admin,
      app,
      mustSetUpTfa,
      requiresTfa,
      satisfiesTfa,
      policies,
      userId: found.id,
      role: found.role,
      roles: found.roles,
      sessionId: found.session?.id ?? null,
      authenticatedAt: found.session?.authenticated_at ?? null,
      client,
      lastAccess: found.last_access,
      ownRow: ownFields && seesOwnRow(rights, ownFields) ? found.own : undefined,
      sessionLastUsed: found.session?.last_used_at ?? null,
    };
  };

  /** The tokens that may be valid, with signed ones first: an attacker cannot forge signed tokens to displace the valid one. */
  const candidatesAmong = async (tokens: readonly string[], onFailure: (error: ApiError) => void) => {
    const signed: string[] = [];
    const others: string[] = [];
    for (const token of tokens) {
      try {
        ((await accessTokens.verify(token)) ? signed : others).push(token);
      } catch (error) {
        if (!(error instanceof ApiError) || error.status >= 500) throw error;
        onFailure(error);
      }
    }
    return [...signed, ...others].slice(0, maxCandidates);
  };

  return {
    authenticate: async (tokens, client, ownFields) => {
      const [token, ...more] = tokens;
      if (token !== undefined && more.length === 0) return authenticate(token, client, ownFields);
      const failures: ApiError[] = [];
      for (const candidate of await candidatesAmong(tokens, (error) => failures.push(error))) {
        try {
          return await authenticate(candidate, client, ownFields);
        } catch (error) {
          if (!(error instanceof ApiError) || error.status >= 500) throw error;
          failures.push(error);
        }
      }
      throw failures.find(({ keepsCookie }) => keepsCookie) ?? failures.at(-1) ?? new ApiError('INVALID_CREDENTIALS');
    },

    anonymous: async (client) => {
      const policies = await findPublicPolicies(db);
      const rights = rightsOf({ has_tfa: true, policies }, client.ip);
      // An anonymous caller is never an administrator, whatever the public policy grants.
      const anonymous = { userId: null, role: null, roles: [], sessionId: null, authenticatedAt: null };
      return { ...rights, admin: false, ...anonymous, client };
    },
  };
}

/**
 * Whether it is certain, without a database query, that the caller may read these fields of their own row: a permission covers all
 * users or the caller's own user. If the result is false, the row may still match the rule of another permission.
 */
function seesOwnRow({ admin, app, policies }: Rights, fields: readonly string[]): boolean {
  if (admin || app) return true;
  const granted = policies
    .flatMap(({ permissions }) => permissions)
    .filter(({ collection, action }) => collection === 'users' && action === 'read')
    .filter(({ permissions: rule }) => isAlwaysOwn(rule))
    .map(({ fields }) => new Set(fields));
  return fields.every((name) => granted.some((names) => names.has('*') || names.has(name)));
}

function isAlwaysOwn(rule: Record<string, unknown> | null): boolean {
  const text = JSON.stringify(rule ?? {});
  return text === '{}' || text === '{"id":{"_eq":"$CURRENT_USER"}}';
}
