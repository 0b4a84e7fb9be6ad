import { randomUUID } from 'node:crypto';
import { compactVerify, createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet } from 'jose';
import { resourceTokenAlgorithm } from '../../../schemas/jwks.js';
import type { Handles } from './handles.js';
import type { ProviderRecords } from './records.js';

/** Finds the stored record of an access token for a resource, which is a JWT (RFC 9068). */
export interface ResourceTokens {
  /**
   * The handle of a token: the token itself, or, for a JWT of this service, what its record is stored under. The handle of any other JWT,
   * and of what only begins like one, belongs to no record.
   */
  handleOf(token: string): Promise<string>;
}

/** The same test as the library's, which rejects such tokens instead of looking for them. */
function looksLikeJwt(token: string): boolean {
  try {
    return Boolean(decodeProtectedHeader(token));
  } catch {
    return false;
  }
}

export function createResourceTokens(
  { handles, records }: { handles: Handles; records: Pick<ProviderRecords, 'find'> },
  issuer: string,
  keys: () => JSONWebKeySet,
): ResourceTokens {
  const idOf = async (token: string): Promise<string | undefined> => {
    if (decodeProtectedHeader(token).typ !== 'at+jwt') return undefined;
    const { payload } = await compactVerify(token, createLocalJWKSet(keys()), { algorithms: [resourceTokenAlgorithm] });
    const { iss, jti } = JSON.parse(new TextDecoder().decode(payload)) as Record<string, unknown>;
    return iss === issuer && typeof jti === 'string' ? jti : undefined;
  };
  return {
    handleOf: async (token) => {
      if (!looksLikeJwt(token)) return token;
      const id = await idOf(token).catch(() => undefined);
      const candidates = handles.jwts(id ?? randomUUID());
      // A token that was issued before a change of SECRET is stored under the handle of that time.
      if (id !== undefined && candidates.length > 1)
        for (const handle of candidates) if (await records.find(handle)) return handle;
      return candidates[0];
    },
  };
}
