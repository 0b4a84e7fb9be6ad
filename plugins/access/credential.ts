import type { FastifyRequest } from 'fastify';
import { ApiError } from '../../schemas/errors.js';

interface Credential {
  /** One token, or several if the request has several session cookies. */
  tokens: readonly string[];
  isCookie: boolean;
}

/**
 * The credential of a request: a token in the query or in the header, but not in both. The session cookie is used only if there is
 * no token.
 * @param sessionCookie name of the session cookie; undefined: the cookie is not a credential for this route
 * @throws {ApiError} INVALID_PAYLOAD
 */
export function credentialOf(request: FastifyRequest, sessionCookie: string | undefined): Credential | undefined {
  const query = (request.query as { access_token?: unknown }).access_token;
  if (query !== undefined && typeof query !== 'string') {
    throw new ApiError('INVALID_PAYLOAD', { reason: 'access_token must be a single string' });
  }
  const header = bearerToken(request.headers.authorization);
  if (query && header) {
    throw new ApiError('INVALID_PAYLOAD', {
      reason: 'The request has a token both in the query and in the Authorization header. Send only one.',
    });
  }
  if (query) return { tokens: [query], isCookie: false };
  if (header) return { tokens: [header], isCookie: false };
  const cookies = sessionCookie === undefined ? [] : request.cookieValues(sessionCookie);
  return cookies.length > 0 ? { tokens: cookies, isCookie: true } : undefined;
}

/** The token of `Bearer <token>` (RFC 6750, 2.1): case-insensitive scheme, exactly two parts. Other schemes are ignored. */
function bearerToken(header: string | undefined): string | undefined {
  const [scheme, token, ...rest] = header?.split(' ') ?? [];
  return scheme?.toLowerCase() === 'bearer' && token && rest.length === 0 ? token : undefined;
}
