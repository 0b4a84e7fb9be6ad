import type { ErrorFormat } from '../http/errors.js';

/**
 * The errors of OAuth 2.0 (RFC 6749, 5.2), for requests that fail before or after the library. A request that the service refuses, such as
 * one that a page of another site could have sent, is an invalid one: there, 403 means that a token lacks a scope.
 */
export const formatOAuthError: ErrorFormat = ({ status, message }) => ({
  status: status === 403 ? 400 : status,
  body: { error: errorOf(status), error_description: message },
});

function errorOf(status: number): string {
  if (status === 503 || status === 429) return 'temporarily_unavailable';
  return status >= 500 ? 'server_error' : 'invalid_request';
}
