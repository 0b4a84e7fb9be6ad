import { createHash, randomBytes } from 'node:crypto';
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { SessionMode } from '../../schemas/sessions.js';
import type { Clock } from '../platform/clock.js';
import type { SecretBox } from '../platform/encryption.js';

/** Which of the two families of routes a login was begun with: they differ in what they answer at the end. */
const Form = Type.Union([Type.Literal('oauth'), Type.Literal('login')]);
export type LoginForm = Static<typeof Form>;

/** A login that was sent to a provider and has not come back yet. */
const Attempt = Type.Object({
  id: Type.String(),
  form: Form,
  redirect: Type.Union([Type.String(), Type.Null()]),
  /** Who is linking a further account to theirs, and from which session; null: a login. */
  link: Type.Union([Type.Object({ user: Type.String(), session: Type.String() }), Type.Null()]),
  /** The PKCE code challenge: tells which verifier cookie belongs to this login, as there can be several of the name. */
  challenge: Type.String(),
  /** Milliseconds since 1970. */
  expires: Type.Number(),
});
export type Attempt = Static<typeof Attempt>;

const Text = Type.Union([Type.String(), Type.Null()]);

/** A login that has come back and waits for the second factor, with what the provider has said: until then it is not taken over. */
const PendingLogin = Type.Object({
  id: Type.String(),
  identity: Type.String(),
  mode: SessionMode,
  profile: Type.Object({
    email: Text,
    isEmailVerified: Type.Boolean(),
    firstName: Text,
    lastName: Text,
    groups: Type.Array(Type.String()),
    data: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
  }),
  expires: Type.Number(),
});
export type PendingLogin = Static<typeof PendingLogin>;
export type PendingProfile = Readonly<Omit<PendingLogin['profile'], 'groups'>> & { readonly groups: readonly string[] };

/** How long a user may take over the pages of a provider, or over a code: in milliseconds. */
export const patience = 300_000;

export interface Attempts {
  begin(provider: string, attempt: Omit<Attempt, 'id' | 'expires'>): string;
  /** @returns undefined when it is none of ours, of another provider, or too old */
  read(provider: string, state: string | undefined): Attempt | undefined;
  beginPending(provider: string, pending: Omit<PendingLogin, 'id' | 'expires'>): string;
  readPending(provider: string, pending: string | undefined): PendingLogin | undefined;
}

/**
 * The state of a login by provider travels with the browser, sealed: nobody else can make one, and one of another provider,
 * or of another purpose, cannot be opened.
 */
export function createAttempts({ box, clock }: { box: SecretBox; clock: Clock }): Attempts {
  const seal = (purpose: string, content: object) => {
    const id = randomBytes(16).toString('base64url');
    return box.seal(JSON.stringify({ ...content, id, expires: clock().getTime() + patience }), purpose);
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

/** The code challenge of a verifier, by the method S256 (RFC 7636, 4.2). */
export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');

/** What an ID token must carry to be of this login and of no other (OpenID Connect Core 1.0, 3.1.2.1). */
export const nonceOf = (state: string): string => createHash('sha256').update(`nonce ${state}`).digest('base64url');
