import { ApiError, unavailable } from '../../schemas/errors.js';

// The errors of a login through a provider. Clients receive only the code. The cause appears only in the log.

const caused = (error: ApiError, cause: unknown): ApiError => {
  error.cause = typeof cause === 'string' ? new Error(cause) : cause;
  return error;
};

/** The error for a login that is refused. */
export const refused = (
  cause: unknown,
  code: 'INVALID_CREDENTIALS' | 'INVALID_PROVIDER' = 'INVALID_CREDENTIALS',
): ApiError => caused(new ApiError(code), cause);

/** The error for a provider that rejects the client, or that does not match its configuration. */
export const misconfigured = (key: string, cause: unknown): ApiError =>
  caused(new ApiError('INVALID_PROVIDER_CONFIG', { provider: key }), cause);

/** The error for a provider that does not respond as it should. */
export const providerDown = (key: string, cause: unknown): ApiError =>
  caused(unavailable('provider_failed', { provider: key }), cause);

/** Logs that a value from the provider was not used, although the login continues. */
export type Warn = (what: string, details?: object) => void;

const maxQuotedLength = 200;
/** Anything that could be a token: long, without spaces, and with a digit. */
const opaque = /(?=[\w.~+/=%-]*\d)[\w.~+/=%-]{20,}/g;
const control = /\p{Cc}+/gu;

/**
 * A text from a provider in a form that can be logged: short, on one line, and without secrets.
 * @param secrets what the provider knows about the login, and could repeat
 */
export function quoted(text: unknown, secrets: readonly string[] = []): string {
  if (typeof text !== 'string') return '';
  const bounded = text.slice(0, 10 * maxQuotedLength).toWellFormed();
  const known = secrets.filter((secret) => secret !== '');
  const spelled = known.flatMap((secret) => [secret, encodeURIComponent(secret)]);
  const cleared = spelled.reduce((left, secret) => left.replaceAll(secret, '…'), bounded);
  return cleared.replace(opaque, '…').replace(control, ' ').trim().slice(0, maxQuotedLength);
}
