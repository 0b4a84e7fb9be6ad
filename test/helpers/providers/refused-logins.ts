import type { LightMyRequestResponse } from 'fastify';
import type { Test } from 'tap';
import type { ErrorCode } from '../../../schemas/errors.js';
import { setCookies } from '../http/cookies.js';
import { refused } from '../http/refusals.js';
import { refreshCookie, sessionCookie } from '../users/sessions.js';

/** The error codes with which a login through a provider can fail. */
export type LoginFault =
  | 'INVALID_CREDENTIALS'
  | 'INVALID_OTP'
  | 'INVALID_PROVIDER'
  | 'INVALID_PROVIDER_CONFIG'
  | 'SERVICE_UNAVAILABLE';

/** The names of the cookies with which a response signs a user in, without the prefix used with https. */
export const signInCookies = (response: LightMyRequestResponse): string[] =>
  Object.entries(setCookies(response))
    .map(([name, { value }]) => ({ name: name.replace(/^__Host-/, ''), value }))
    .filter(({ name, value }) => value !== '' && [refreshCookie, sessionCookie].includes(name))
    .map(({ name }) => name);

/** Asserts that a login is rejected with a JSON error and that no user is signed in. */
export function refusedLogin(t: Test, response: LightMyRequestResponse, code: LoginFault, what: string): void {
  if (response.statusCode < 400) {
    t.fail(`${what}: returned ${response.statusCode} ${response.headers.location ?? response.body.slice(0, 200)}`);
    return;
  }
  refused(t, response, code as ErrorCode, what);
  t.strictSame(signInCookies(response), [], `${what}: no user is signed in`);
}

/** Asserts that a rejected login redirects with the reason and that no user is signed in. */
export function sentBack(
  t: Test,
  response: LightMyRequestResponse,
  target: string,
  code: LoginFault,
  what: string,
): void {
  const { statusCode, headers } = response;
  const expected = { status: 302, location: `${target}?reason=${code}`, cookies: [] };
  t.strictSame({ status: statusCode, location: headers.location, cookies: signInCookies(response) }, expected, what);
}
