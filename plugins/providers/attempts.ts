import { createHash, randomBytes } from 'node:crypto';
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { SessionMode } from '../../schemas/sessions.js';
import type { Clock } from '../platform/clock.js';
import type { SecretBox } from '../platform/encryption.js';
import type { Profile } from './profile.js';

/** The group of routes that a login started with. The two groups return different responses at the end. */
const Form = Type.Union([Type.Literal('oauth'), Type.Literal('login')]);
export type LoginRouteGroup = Static<typeof Form>;

/** A login that was sent to a provider and has not returned yet. */
const Attempt = Type.Object({
  id: Type.String(),
  form: Form,
  redirect: Type.Union([Type.String(), Type.Null()]),
  /** The user who links another account, and their session; null: a login. */
  link: Type.Union([Type.Object({ user: Type.String(), session: Type.String() }), Type.Null()]),
  /** The PKCE code challenge. It identifies the verifier cookie of this login, because there can be several with the same name. */
  challenge: Type.String(),
  /** Milliseconds since 1970. */
  expires: Type.Number(),
});
export type Attempt = Static<typeof Attempt>;

const Text = Type.Union([Type.String(), Type.Null()]);

/** A login that has returned and waits for the second factor, with the provider's data, which is applied only after that. */
const PendingLogin = Type.Object({
  id: Type.String(),
  identity: Type.String(),
  mode: SessionMode,
  profile: Type.Object({
    email: Text,
    isEmailVerified: Type.Boolean(),
    firstName: Text,
    lastName: Text,
    groups: Type.Union([Type.Array(Type.String()), Type.Null()]),
    data: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
  }),
  expires: Type.Number(),
});
export type PendingLogin = Static<typeof PendingLogin>;
export type PendingProfile = Readonly<Omit<PendingLogin['profile'], 'groups'>> & Pick<Profile, 'groups'>;

/** How long users have to complete the provider's pages, or to enter a code, in milliseconds. */
export const attemptTimeoutMs = 300_000;

export interface Attempts {
  begin(provider: string, attempt: Omit<Attempt, 'id' | 'expires'>): string;
  /** @returns undefined when the state was not issued by this service, belongs to another provider, or has expired */
  read(provider: string, state: string | undefined): Attempt | undefined;
  beginPending(provider: string, pending: Omit<PendingLogin, 'id' | 'expires'>): string;
  readPending(provider: string, pending: string | undefined): PendingLogin | undefined;
}

/**
 * The browser carries the state of a login through a provider. It is encrypted, so only this service can create it, and it cannot be
 * opened for another provider or another purpose.
 */
export function createAttempts({ box, clock }: { box: SecretBox; clock: Clock }): Attempts {
  const seal = (purpose: string, content: object) => {
    const id = randomBytes(16).toString('base64url');
    return box.seal(JSON.stringify({ ...content, id, expires: clock().getTime() + attemptTimeoutMs }), purpose);
  };

  const open = <Schema extends TSchema & { static: { expires: number } }>(
    schema: Schema,
    purpose: string,
    sealed: string | undefined,
  ): Static<Schema> | undefined => {
    if (sealed === undefined) return undefined;
    try {
      const content: unknown = JSON.parse(box.open(sealed, purpose));
      return Value.Check(schema, content) && content.expires > clock().getTime() ? content : undefined;
    } catch {
      return undefined;
    }
  };

  return {
    begin: (provider, attempt) => seal(`login by ${provider}`, attempt),
    read: (provider, state) => open(Attempt, `login by ${provider}`, state),
    beginPending: (provider, pending) => seal(`second factor of ${provider}`, pending),
    readPending: (provider, pending) => open(PendingLogin, `second factor of ${provider}`, pending),
  };
}

/** The code challenge of a verifier with the method S256 (RFC 7636, 4.2). */
export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');

/** The nonce that an ID token must contain to belong to this login (OpenID Connect Core 1.0, 3.1.2.1). */
export const nonceOf = (state: string): string => createHash('sha256').update(`nonce ${state}`).digest('base64url');
