import type { FastifyRequest } from 'fastify';
import { ApiError } from '../../schemas/errors.js';

export interface Credential {
  token: string;
  carrier: 'query' | 'header' | 'cookie';
}

/**
 * The one token that a request presents (contract 1.2): in the query or in the header, but not in both; the session
 * cookie counts only when there is neither.
 * @throws {ApiError} INVALID_PAYLOAD
 */
export function credentialOf(request: FastifyRequest, sessionCookie: string): Credential | undefined {
  const query = (request.query as { access_token?: unknown }).access_token;
  if (query !== undefined && typeof query !== 'string') {
    throw new ApiError('INVALID_PAYLOAD', { reason: 'access_token may be given once, as text' });
  }
  const header = bearerToken(request.headers.authorization);
  if (query && header) {
    throw new ApiError('INVALID_PAYLOAD', {
      reason: 'A token came in the query and in the Authorization header; send it in one of them',
    });
  }
  if (query) return { token: query, carrier: 'query' };
  if (header) return { token: header, carrier: 'header' };
  const cookie = request.cookies[sessionCookie];
  return cookie ? { token: cookie, carrier: 'cookie' } : undefined;
}

/** The token of `Bearer <token>` (RFC 6750, 2.1): scheme in any case, exactly two parts; any other scheme is not ours. */
function bearerToken(header: string | undefined): string | undefined {
  const [scheme, token, ...rest] = header?.split(' ') ?? [];
  return scheme?.toLowerCase() === 'bearer' && token && rest.length === 0 ? token : undefined;
}
