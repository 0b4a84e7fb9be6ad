import { randomUUID } from 'node:crypto';
import { deriveKey } from '../../plugins/platform/key-derivation.js';
import type { LinkTokenScope } from '../../schemas/link-tokens.js';
import { signJwt } from './jwt.js';

/** A request that is timed. */
export interface TimedRequest {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: object;
}

/** Two requests that differ in nothing but whether somebody is there. */
export interface TimingCase {
  what: string;
  status: number;
  /** How many connections it is asked on at once: many where answers wait for their time, as that costs nothing. */
  lanes: number;
  known(): TimedRequest;
  unknown(): TimedRequest;
}

/** What the requests of a case are about. */
export interface TimingWorld {
  secret: string;
  adminToken: string;
  role: string;
  /** The one who is known. */
  email: string;
  id: string;
  /** Of a provider, so that there is no password to be compared. */
  emailOfProvider: string;
  /** The access token of a user who can request a new address. */
  memberToken: string;
}

const password = 'not the password of anybody at all';
const notAllowed = 'https://elsewhere.example/';

/**
 * Every question of a stranger that has to do with an account, in its success and in its error. A success of an invitation
 * is not among them: it is for who may create users, to whom a creation tells whether there is one, and it writes one or
 * none.
 */
export function timingCases({ secret, adminToken, role, email, id, emailOfProvider, memberToken }: TimingWorld) {
  let count = 0;
  const stranger = () => `stranger-${++count}@example.com`;
  const post = (path: string, body: object, headers: Record<string, string> = {}): TimedRequest => ({
    method: 'POST',
    path,
    headers,
    body,
  });
  const ofAddress = (
    what: string,
    status: number,
    lanes: number,
    request: (email: string) => TimedRequest,
    known = email,
  ): TimingCase => ({ what, status, lanes, known: () => request(known), unknown: () => request(stranger()) });

  const key = deriveKey(secret, 'link-token');
  const link = (scope: LinkTokenScope, user: string, signedWith: Buffer | string = key) => {
    const iat = Math.floor(Date.now() / 1000);
    const claims = { id: user, scope, state: 'x'.repeat(22), iat, exp: iat + 3600, iss: 'gatehouse' };
    return signJwt(signedWith, claims, { alg: 'HS256', typ: 'link+jwt' });
  };
  const ofLink = (what: string, status: number, request: (user: string) => TimedRequest): TimingCase => ({
    what,
    status,
    lanes: 1,
    known: () => request(id),
    unknown: () => request(randomUUID()),
  });
  const verify = (token: string): TimedRequest => ({
    method: 'GET',
    path: `/users/register/verify-email?token=${token}`,
  });
  const asMember = { authorization: `Bearer ${memberToken}` };
  const asAdmin = { authorization: `Bearer ${adminToken}` };

  return {
    login: ofAddress('a wrong password', 401, 1, (one) => post('/auth/login', { email: one, password })),
    'login-provider': ofAddress(
      'a password of who has none',
      401,
      1,
      (one) => post('/auth/login', { email: one, password }),
      emailOfProvider,
    ),
    'login-error': ofAddress('a login that is malformed', 400, 1, (one) =>
      post('/auth/login', { email: one, password, mode: 'none' }),
    ),
    reset: ofAddress('a link to reset the password', 204, 1, (one) => post('/auth/password/request', { email: one })),
    'reset-error': ofAddress('the same, to lead to where it may not', 400, 1, (one) =>
      post('/auth/password/request', { email: one, reset_url: notAllowed }),
    ),
    'reset-link': ofLink('a link to reset that is used', 403, (user) =>
      post('/auth/password/reset', { token: link('password-reset', user), password }),
    ),
    'reset-forged': ofLink('a link to reset that is forged', 403, (user) =>
      post('/auth/password/reset', { token: link('password-reset', user, 'x'), password }),
    ),
    'email-change': ofAddress('a request for a new address', 204, 1, (one) =>
      post('/users/me/email', { email: one }, asMember),
    ),
    'email-change-link': ofLink('a link to confirm an address that is used', 403, (user) =>
      post('/users/me/email/confirm', { token: link('email-change', user) }),
    ),
    'check-password': ofAddress('a check of a password', 200, 1, (one) =>
      post('/auth/password/check', { email: one, password }),
    ),
    resend: ofAddress('the verification email again', 204, 1, (one) => post('/users/register/resend', { email: one })),
    // The known one is sent an email that says that they have an account. Answered after 150 ms, of which hashing takes a part: so many at once leave the processor half idle.
    register: ofAddress('a registration', 204, 4, (one) => post('/users/register', { email: one, password })),
    'register-error': ofAddress('the same, to lead to where it may not', 400, 1, (one) =>
      post('/users/register', { email: one, password, verification_url: notAllowed }),
    ),
    'invite-error': ofAddress('an invitation, to lead to where it may not', 400, 1, (one) =>
      post('/users/invite', { email: one, role, invite_url: notAllowed }, asAdmin),
    ),
    'invite-link': ofLink('an invitation that is used', 400, (user) =>
      post('/users/invite/accept', { token: link('invite', user), password }),
    ),
    'invite-forged': ofLink('an invitation that is forged', 403, (user) =>
      post('/users/invite/accept', { token: link('invite', user, 'x'), password }),
    ),
    confirm: ofLink('a confirmation that is used', 400, (user) =>
      post('/users/register/verify-email', { token: link('pending-registration', user), password }),
    ),
    verify: ofLink('a verification that is used', 400, (user) => verify(link('pending-registration', user))),
    'verify-forged': ofLink('a verification that is forged', 403, (user) =>
      verify(link('pending-registration', user, 'x')),
    ),
  } satisfies Record<string, TimingCase>;
}
