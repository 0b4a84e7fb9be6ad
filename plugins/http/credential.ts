import type { FastifyContextConfig } from 'fastify';
import { ApiError } from '../../schemas/errors.js';
import { allowsAction, type OperationScope } from '../../schemas/scopes.js';
import type { Caller } from './caller.js';

// What callers authenticate with, and which operations accept it.

interface CredentialOf<Kind, Scopes> {
  kind: Kind;
  id: string;
  /** What the credential may be used for; null for everything that its user may do. */
  scopes: Scopes;
  /** The application that uses the credential; null for Gatehouse itself and the project's own programs. */
  client: string | null;
}

export interface SessionCredential extends CredentialOf<'session', null> {
  /** When the user last proved their identity in this session, in milliseconds since 1970. */
  authenticatedAt: number;
  /** The last recorded use, in milliseconds since 1970. */
  lastUsed: number;
}

/** The ID of this credential is the user's ID, because a user can have only one static token. */
type StaticTokenCredential = CredentialOf<'static token', null>;

/** An access token that an application got for the service's own API. */
interface ApplicationTokenCredential extends CredentialOf<'application token', readonly string[]> {
  client: string;
}

/** What a caller has authenticated with. Each kind has a resolver (`plugins/access/credentials/`). */
export type Credential = SessionCredential | StaticTokenCredential | ApplicationTokenCredential;

export type CredentialKind = Credential['kind'];

/** All kinds, with their names in error messages and in the documentation. */
export const credentialNames: Readonly<Record<CredentialKind, string>> = {
  session: 'a session',
  'static token': 'a static token',
  'application token': 'the access token of an application',
};

/** The kinds that an operation accepts. */
export type AcceptedKinds = readonly [CredentialKind, ...CredentialKind[]];

/**
 * What an operation accepts if it declares nothing. A kind with scopes cannot be in this list, so operations must name it before anyone
 * can call them with it.
 */
export const acceptedByDefault = ['session', 'static token'] as const satisfies readonly Extract<
  Credential,
  { scopes: null }
>['kind'][];

/** The kinds with scopes. Operations accept them if they declare a scope. */
const scopedKinds = ['application token'] as const satisfies readonly Exclude<Credential, { scopes: null }>['kind'][];

const acceptedWithScope: readonly CredentialKind[] = [...acceptedByDefault, ...scopedKinds];

/** The kinds that a route accepts. Only a session can be fresh. */
export function acceptedBy({ credentials, scope, requiresFresh }: FastifyContextConfig): readonly CredentialKind[] {
  const own: readonly CredentialKind[] | undefined = credentials ?? (requiresFresh ? ['session'] : undefined);
  // This runs for every request, so the usual lists are created only once.
  if (own === undefined) return scope === undefined ? acceptedByDefault : acceptedWithScope;
  return scope === undefined ? own : [...own, ...scopedKinds];
}

/** Whether the scopes of the caller's credential allow an action on a collection. Most kinds of credentials have no scopes. */
export function isInScope({ credential }: Pick<Caller, 'credential'>, collection: string, action: string): boolean {
  const scopes = credential?.scopes ?? null;
  return scopes === null || allowsAction(scopes, collection, action);
}

/** @throws {ApiError} FORBIDDEN if the caller's credential lacks the scope that an operation requires */
export function requireScope(caller: Caller, scope: OperationScope): void {
  if ((caller.credential?.scopes ?? null) === null) return;
  const [collection = '', action = ''] = scope.split(':');
  if (!isInScope(caller, collection, action))
    throw new ApiError('FORBIDDEN', { reason: `This requires the scope ${scope}.` });
}

/** Whether an application acts for the user. It never has more power than the session in which the user allowed it. */
export const isOfApplication = ({ credential }: Pick<Caller, 'credential'>): boolean =>
  (credential?.client ?? null) !== null;

/** The kinds among these that a route does not accept. */
export const refusedAmong = (kinds: readonly CredentialKind[], config: FastifyContextConfig) => {
  const accepted = acceptedBy(config);
  return kinds.filter((kind) => !accepted.includes(kind));
};

/** @throws {ApiError} FORBIDDEN if the caller uses a credential of another kind */
export function requireKind({ credential }: Caller, accepted: readonly CredentialKind[]): void {
  if (credential === null || accepted.includes(credential.kind)) return;
  const names = accepted.map((kind) => credentialNames[kind]).join(' or ');
  throw new ApiError('FORBIDDEN', {
    reason: `This requires ${names}. Sign in instead of using ${credentialNames[credential.kind]}.`,
  });
}

/** The session that the caller is signed in with; undefined for any other credential. */
export const sessionOf = ({ credential }: Pick<Caller, 'credential'>): SessionCredential | undefined =>
  credential?.kind === 'session' ? credential : undefined;

/** The ID of that session; null for any other credential. */
export const sessionIdOf = (caller: Pick<Caller, 'credential'>): string | null => sessionOf(caller)?.id ?? null;

/**
 * For what only the user may do, never a program.
 * @throws {ApiError} FORBIDDEN if the caller uses another credential than a session
 */
export function requireSession(caller: Caller): SessionCredential {
  requireKind(caller, ['session']);
  const session = sessionOf(caller);
  if (!session) throw new ApiError('INVALID_CREDENTIALS');
  return session;
}
