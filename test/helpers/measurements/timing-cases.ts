import { randomUUID } from 'node:crypto';
import { deriveKey } from '../../../plugins/platform/key-derivation.js';
import { createChallenges } from '../../../plugins/webauthn/challenges.js';
import type { LinkTokenScope } from '../../../schemas/link-tokens.js';
import { signJwt } from '../tokens/jwt.js';
import { type Authenticator, createAuthenticator } from '../users/authenticator.js';

/** A request to be timed. */
export interface TimedRequest {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: object;
}

/** Two requests that differ only in whether the user exists. */
export interface TimingCase {
  what: string;
  status: number;
  /** The number of parallel connections. Responses that are delayed to a fixed time allow many, as waiting is free. */
  connections: number;
  known(): TimedRequest;
  unknown(): TimedRequest;
}

/** The data that the requests of a case use. */
export interface TimingWorld {
  secret: string;
  adminToken: string;
  role: string;
  /** The address of an existing user. */
  email: string;
  id: string;
  /** The address of a user of a provider, for whom no password is stored. */
  emailOfProvider: string;
  /** The access token of a user who can request an email change. */
  memberToken: string;
  /** A passkey of an active user, and one of a suspended user. */
  passkeys: Record<'active' | 'suspended', Authenticator>;
}

const password = 'not the password of anybody at all';
const notAllowed = 'https://elsewhere.example/';

/**
 * All anonymous requests that concern an account, both successful and rejected. Successful invitations are not
 * included: they require the right to create users, which in itself reveals whether a user exists, and they write one
 * row or none.
 */
export function timingCases(world: TimingWorld) {
  const { secret, adminToken, role, email, id, emailOfProvider, memberToken, passkeys } = world;
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
    connections: number,
    request: (email: string) => TimedRequest,
    known = email,
  ): TimingCase => ({
    what,
    status,
    connections,
    known: () => request(known),
    unknown: () => request(stranger()),
  });

  const key = deriveKey(secret, 'link-token');
  const link = (scope: LinkTokenScope, user: string, signedWith: Buffer | string = key) => {
    const iat = Math.floor(Date.now() / 1000);
    const claims = { id: user, scope, state: 'x'.repeat(22), iat, exp: iat + 3600, iss: 'gatehouse' };
    return signJwt(signedWith, claims, { alg: 'HS256', typ: 'link+jwt' });
  };
  const ofLink = (what: string, status: number, request: (user: string) => TimedRequest): TimingCase => ({
    what,
    status,
    connections: 1,
    known: () => request(id),
    unknown: () => request(randomUUID()),
  });
  const challenges = createChallenges([deriveKey(secret, 'passkey-challenge')], () => new Date());
  const unknownPasskey = createAuthenticator();
  unknownPasskey.create({ challenge: '', user: { id: 'AAAAAAAAAAAAAAAAAAAAAA' } });
  /** Signs a valid challenge. Responses are delayed to a multiple of 100 ms. */
  const ofPasskey = (what: string, known: Authenticator, changes: Parameters<Authenticator['get']>[1]): TimingCase => {
    const request = (passkey: Authenticator) => () =>
      post('/auth/passkey', { credential: passkey.get({ challenge: challenges.issue(null) }, changes) });
    return { what, status: 401, connections: 4, known: request(known), unknown: request(unknownPasskey) };
  };
  const verify = (token: string): TimedRequest => ({
    method: 'GET',
    path: `/users/register/verify-email?token=${token}`,
  });
  const asMember = { authorization: `Bearer ${memberToken}` };
  const asAdmin = { authorization: `Bearer ${adminToken}` };

  return {
    login: ofAddress('a wrong password', 401, 1, (one) => post('/auth/login', { email: one, password })),
    'login-provider': ofAddress(
      'a password for a user without a password',
      401,
      1,
      (one) => post('/auth/login', { email: one, password }),
      emailOfProvider,
    ),
    'login-error': ofAddress('a malformed login', 400, 1, (one) =>
      post('/auth/login', { email: one, password, mode: 'none' }),
    ),
    reset: ofAddress('a request for a password reset link', 204, 1, (one) =>
      post('/auth/password/request', { email: one }),
    ),
    'reset-error': ofAddress('a request for a reset link with a URL that is not allowed', 400, 1, (one) =>
      post('/auth/password/request', { email: one, reset_url: notAllowed }),
    ),
    'reset-link': ofLink('a used password reset link', 403, (user) =>
      post('/auth/password/reset', { token: link('password-reset', user), password }),
    ),
    'reset-forged': ofLink('a forged password reset link', 403, (user) =>
      post('/auth/password/reset', { token: link('password-reset', user, 'x'), password }),
    ),
    'email-login': ofAddress('a request for a code to sign in', 204, 1, (one) =>
      post('/auth/email/request', { email: one }),
    ),
    'email-login-error': ofAddress('a request for a code with a redirect that is not allowed', 400, 1, (one) =>
      post('/auth/email/request', { email: one, redirect: notAllowed }),
    ),
    // Delayed to a multiple of 100 ms.
    'email-login-code': ofAddress('a wrong code from an email', 401, 4, (one) =>
      post('/auth/email', { email: one, code: '000000', binding: 'the binding of nobody, long enough' }),
    ),
    passkey: ofPasskey('a wrong signature with a passkey', passkeys.active, {
      signature: (bytes) => Buffer.concat([bytes.subarray(0, -1), Buffer.from([(bytes.at(-1) ?? 0) ^ 1])]),
    }),
    'passkey-user': ofPasskey('a passkey of a suspended user', passkeys.suspended, {}),
    'email-change': ofAddress('a request for an email change', 204, 1, (one) =>
      post('/users/me/email', { email: one }, asMember),
    ),
    'email-change-link': ofLink('a used email change link', 403, (user) =>
      post('/users/me/email/confirm', { token: link('email-change', user) }),
    ),
    'check-password': ofAddress('a password check', 200, 1, (one) =>
      post('/auth/password/check', { email: one, password }),
    ),
    resend: ofAddress('a request to resend the verification email', 204, 1, (one) =>
      post('/users/register/resend', { email: one }),
    ),
    // The known user is told by email that they already have an account. The response takes 150 ms, including the hashing,
    // so the processor is half idle with this many in parallel.
    register: ofAddress('a registration', 204, 4, (one) => post('/users/register', { email: one, password })),
    'register-error': ofAddress('a registration with a URL that is not allowed', 400, 1, (one) =>
      post('/users/register', { email: one, password, verification_url: notAllowed }),
    ),
    'invite-error': ofAddress('an invitation with a URL that is not allowed', 400, 1, (one) =>
      post('/users/invite', { email: one, role, invite_url: notAllowed }, asAdmin),
    ),
    'invite-link': ofLink('a used invitation', 400, (user) =>
      post('/users/invite/accept', { token: link('invite', user), password }),
    ),
    'invite-forged': ofLink('a forged invitation', 403, (user) =>
      post('/users/invite/accept', { token: link('invite', user, 'x'), password }),
    ),
    confirm: ofLink('a used confirmation', 400, (user) =>
      post('/users/register/verify-email', { token: link('pending-registration', user), password }),
    ),
    verify: ofLink('a used verification', 400, (user) => verify(link('pending-registration', user))),
    'verify-forged': ofLink('a forged verification', 403, (user) => verify(link('pending-registration', user, 'x'))),
  } satisfies Record<string, TimingCase>;
}
