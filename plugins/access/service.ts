import type { Executor } from '../../db/client.js';
import type { Item } from '../../db/queries/items.js';
import {
  findPrincipalBySession,
  findPrincipalByTokenHash,
  findPublicPolicies,
  type PrincipalRecord,
  type SessionPrincipalRecord,
} from '../../db/queries/principals.js';
import { ApiError } from '../../schemas/errors.js';
import type { AccessTokenClaims } from '../../schemas/sessions.js';
import type { Client } from '../client.js';
import type { Clock } from '../clock.js';
import { replacedAt } from '../sessions/rotation.js';
import type { AccessTokens } from '../tokens/access-tokens.js';
import { hashToken } from '../tokens/refresh-tokens.js';
import { seesOwnRow } from './own-row.js';
import { type Rights, rightsOf } from './rights.js';

/** Who is calling, and what they may do: computed from the database for this request alone. */
export interface Caller extends Rights {
  /** Null: nobody who says so. */
  userId: string | null;
  role: string | null;
  roles: readonly string[];
  /** The session that the token is of; null without one. */
  sessionId: string | null;
  /** From where they call. */
  client: Client;
}

/** A caller who has proved who they are. */
export interface Principal extends Caller {
  userId: string;
  /** Milliseconds since 1970. */
  lastAccess: number | null;
  /** The user's own row, where it was asked for and there is a right to see all of it. */
  ownRow: Item | undefined;
  /** When the session was last used, as far as that was noted, in milliseconds since 1970; null without one. */
  sessionLastUsed: number | null;
}

export interface Access {
  /**
   * The caller behind a token: an access token of ours, or else a static token (contract 1.2).
   * @param ownFields of the caller's own row, to be read along
   * @throws {ApiError} INVALID_TOKEN, TOKEN_EXPIRED, INVALID_CREDENTIALS
   */
  authenticate(token: string, client: Client, ownFields?: readonly string[]): Promise<Principal>;
  /** A caller without a credential: what they may do is what the public policy grants. */
  anonymous(client: Client): Promise<Caller>;
}

type Found = PrincipalRecord & Partial<Pick<SessionPrincipalRecord, 'session'>>;

export function createAccess(deps: {
  db: Executor;
  accessTokens: AccessTokens;
  clock: Clock;
  gracePeriod: number;
}): Access {
  const { db, accessTokens, clock, gracePeriod } = deps;

  /** Whether the session still stands behind a token: not logged out, not expired, and, for a session cookie, not replaced. */
  const stands = (claims: AccessTokenClaims, { id, session }: SessionPrincipalRecord): boolean => {
    const now = clock().getTime();
    if (id !== claims.id || session.expires_at <= now) return false;
    if (claims.generation === undefined) return true;
    if (claims.generation > session.generation) return false;
    const recentRotations = session.recent_rotations.map((moment) => new Date(moment));
    const replaced = replacedAt(claims.generation, { generation: session.generation, recentRotations });
    return replaced === undefined || (replaced !== null && now <= replaced.getTime() + gracePeriod);
  };

  const find = async (token: string, ownFields?: readonly string[]): Promise<Found | undefined> => {
    const claims = await accessTokens.verify(token);
    if (!claims) return findPrincipalByTokenHash(db, hashToken(token), ownFields);
    const found = await findPrincipalBySession(db, claims.session, ownFields);
    return found && stands(claims, found) ? found : undefined;
  };

  return {
    authenticate: async (token, client, ownFields) => {
      const found = await find(token, ownFields);
      if (found?.status !== 'active') throw new ApiError('INVALID_CREDENTIALS');
      const rights = rightsOf(found, client.ip);
      const { admin, app, mustSetUpTfa, policies } = rights;
      // Each by its name, at every request: spread, they would take three kilobytes.
      return {
        admin,
        app,
        mustSetUpTfa,
        policies,
        userId: found.id,
        role: found.role,
        roles: found.roles,
        sessionId: found.session?.id ?? null,
        client,
        lastAccess: found.last_access,
        ownRow: ownFields && seesOwnRow(rights, ownFields) ? found.own : undefined,
        sessionLastUsed: found.session?.last_used_at ?? null,
      };
    },

    anonymous: async (client) => {
      const policies = await findPublicPolicies(db);
      const rights = rightsOf({ has_tfa: true, policies }, client.ip);
      // Whatever the public policy says, nobody administers without saying who they are.
      return { ...rights, admin: false, userId: null, role: null, roles: [], sessionId: null, client };
    },
  };
}
