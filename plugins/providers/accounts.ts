import { randomUUID } from 'node:crypto';
import type { Executor } from '../../db/client.js';
import { brokenConstraint } from '../../db/failures.js';
import {
  hasActiveAdministrator,
  lockAdministrators,
  rolesWithAdminAccess,
} from '../../db/queries/access/administrators.js';
import { findPrincipalBySession } from '../../db/queries/access/principals.js';
import { findRecipientByEmail, lockRecipient, readAccountStates } from '../../db/queries/mail/recipients.js';
import {
  findIdentityHolder,
  findIdentityHolderById,
  type IdentityHolder,
  insertIdentity,
  insertProviderUser,
  noteIdentityUse,
  type ProviderUserChanges,
  updateProviderUser,
} from '../../db/queries/providers/identities.js';
import { spendState } from '../../db/queries/providers/spent-states.js';
import { deleteSessionsOf } from '../../db/queries/sessions/sessions.js';
import { deleteEmailChange } from '../../db/queries/users/email-changes.js';
import { transact } from '../../db/statements.js';
import { reasonOfStatus } from '../../schemas/activity.js';
import { invalidCredentials } from '../../schemas/errors.js';
import { asciiDomain, openRoles, type ProviderConfig } from '../../schemas/provider-config.js';
import type { SessionMode } from '../../schemas/sessions.js';
import type { Client } from '../http/caller.js';
import type { Services } from '../platform/plugin.js';
import type { IssuedSession, LoginChanges } from '../sessions/issuing.js';
import { endUnclaimedUsers } from '../users/end-unclaimed-users.js';
import type { PendingLogin, PendingProfile } from './attempts.js';
import { misconfigured, refused, type Warn } from './failures.js';
import type { Profile } from './profile.js';

/** A new session, or the identity of a user who must still provide the second factor. */
export type LoginOutcome = { issued: IssuedSession } | { waiting: Pick<PendingLogin, 'identity' | 'profile'> };

export interface Accounts {
  /**
   * Starts a session for the user that a provider identified. Creates the user if the configuration allows it.
   * @throws {ApiError} INVALID_CREDENTIALS; INVALID_PROVIDER when another user has the email address; INVALID_PROVIDER_CONFIG
   */
  logIn(profile: Profile, mode: SessionMode, client: Client, warn: Warn): Promise<LoginOutcome>;
  /**
   * Starts the session of a login that waits for the second factor. Each login can start only one session.
   * @throws {ApiError} INVALID_CREDENTIALS, INVALID_OTP, REQUESTS_EXCEEDED, INVALID_PROVIDER_CONFIG
   */
  complete(pending: PendingLogin, otp: string, mode: SessionMode, client: Client, warn: Warn): Promise<IssuedSession>;
  /**
   * Links an account at the provider to an existing user, who can then log in with it.
   * @throws {ApiError} INVALID_CREDENTIALS when the user's session has ended; INVALID_PROVIDER when the account is linked to another
   *   user
   */
  link(profile: Profile, to: { user: string; session: string }, client: Client): Promise<void>;
}

/** Maximum size in bytes of a profile that fits into a cookie when encrypted. The second factor step drops a larger one. */
const maxKept = 2_000;

/** The users of one provider. They are looked up by their identifier at the provider, never by their address. */
export function createAccounts(
  { config, db, clock, sessions, secondFactor, activity, signInMethods }: Services,
  provider: ProviderConfig,
): Accounts {
  const { AUTH_PASSKEYS: acceptsPasskeys } = config;

  const mappedRoles = new Set(provider.ROLE_MAPPING.map(([, role]) => role));

  /** The first mapping for a group of the user. */
  const mappingOf = ({ groups }: Pick<Profile, 'groups'>): readonly [group: string, role: string] | undefined => {
    const held = new Set(groups);
    return provider.ROLE_MAPPING.find(([group]) => held.has(group));
  };

  const mappedRole = (profile: Pick<Profile, 'groups'>): string | undefined => mappingOf(profile)?.[1];

  const defaultRole = provider.DEFAULT_ROLE_ID ?? null;

  const { IDENTIFIER_IGNORE_CASE: ignoresCase } = provider;

  /** The identifier in the form in which it is stored and looked up. */
  const normalized = (identifier: string): string => (ignoresCase ? identifier.toLowerCase() : identifier);

  /** The address, if the provider vouches for it. Any other address could belong to another person: it is neither stored nor looked up. */
  const trustedEmail = ({ email, isEmailVerified }: Pick<Profile, 'email' | 'isEmailVerified'>): string | null =>
    isEmailVerified || provider.TRUST_EMAIL ? email : null;

  /** @throws {ApiError} INVALID_CREDENTIALS when a verified address is required and the provider does not assert one */
  const requireVerifiedEmail = ({ email, isEmailVerified }: Profile): void => {
    if (provider.REQUIRE_VERIFIED_EMAIL && (email === null || !isEmailVerified)) {
      throw invalidCredentials(undefined, 'unverified');
    }
  };

  const allowedDomains = new Set(provider.ALLOWED_DOMAINS.map(asciiDomain));

  /** @throws {ApiError} INVALID_CREDENTIALS when ALLOWED_DOMAINS does not allow the address or the organization */
  const requireAllowedDomain = ({ email, isEmailVerified, hostedDomain }: Profile): void => {
    if (allowedDomains.size === 0) return;
    if (email === null || !isEmailVerified) {
      throw refused('ALLOWED_DOMAINS requires a verified address, and the provider did not send one.').because(
        'unverified',
      );
    }
    const domain = asciiDomain(email.slice(email.lastIndexOf('@') + 1));
    if (!allowedDomains.has(domain)) throw refused('The domain of the address is not in ALLOWED_DOMAINS.');
    if (hostedDomain === undefined && (domain === 'gmail.com' || !isGoogle(provider))) return;
    if (typeof hostedDomain !== 'string' || !allowedDomains.has(asciiDomain(hostedDomain))) {
      throw refused('The organization of the account (hd) is not in ALLOWED_DOMAINS.');
    }
  };

  /** What every login requires, of users who exist and of new ones. @returns the identifier */
  const requireAcceptable = (profile: Profile): string => {
    if (profile.identifier === null) {
      throw refused(`The profile contains no identifier that can be stored in ${provider.IDENTIFIER_KEY}.`);
    }
    requireAllowedDomain(profile);
    return normalized(profile.identifier);
  };

  const register = async (
    tx: Executor,
    profile: Profile,
    identifier: string,
    client: Client,
  ): Promise<IdentityHolder> => {
    if (!provider.ALLOW_PUBLIC_REGISTRATION) throw invalidCredentials(undefined, 'unknown_user');
    const { data, unverifiedNames } = profile;
    const isNamed = profile.firstName !== null || profile.lastName !== null;
    const { firstName, lastName } = isNamed ? profile : unverifiedNames;
    const email = trustedEmail(profile);
    const id = randomUUID();
    const role = mappedRole(profile) ?? defaultRole;
    const user = {
      id,
      provider: provider.key,
      externalIdentifier: identifier,
      email,
      emailVerifiedAt: email === null ? null : clock(),
      firstName,
      lastName,
      role,
      authData: data,
      createdAt: clock(),
    };
    const identity = {
      user: id,
      provider: provider.key,
      identifier,
      email: profile.email,
      isPrimary: true,
      createdAt: clock(),
    };
    const insertUser = async () => {
      if (email !== null) await endUnclaimedUsers(tx, activity, { userId: id, client }, [email]);
      return insertProviderUser(tx, user);
    };
    const find = () => findIdentityHolder(tx, provider.key, identifier, ignoresCase);
    // Someone may have registered the address between the two statements, so there are two attempts.
    const isMade = (await insertUser()) || (!(await find()) && (await insertUser()));
    // Another request linked the provider account in the meantime, so the new user must not be kept.
    if (isMade && !(await insertIdentity(tx, identity))) throw refused(linkedMeanwhile, 'INVALID_PROVIDER');
    // If no user was created, another user has the address, or a concurrent request of the same login created the user.
    const holder = await find();
    if (!holder) throw refused('Another user has the email address.', 'INVALID_PROVIDER');
    if (isMade)
      await activity.record(tx, { userId: id, client }, [{ action: 'register', collection: 'users', item: id }]);
    return holder;
  };

  /** The role that the user's groups map to; undefined: the role does not change. */
  const newRole = (profile: PendingProfile, { id, role }: IdentityHolder, warn: Warn): string | null | undefined => {
    if (mappedRoles.size === 0) return undefined;
    if (profile.groups === null) {
      warn('the role is kept, because the provider announces groups, but does not list them', { user: id });
      return undefined;
    }
    const isMappedRole = role !== null && mappedRoles.has(role);
    const wanted = mappedRole(profile) ?? (isMappedRole ? defaultRole : role);
    return wanted === role ? undefined : wanted;
  };

  const newInfo = async (
    tx: Executor,
    profile: PendingProfile,
    holder: IdentityHolder,
    client: Client,
    warn: Warn,
  ): Promise<ProviderUserChanges> => {
    const email = trustedEmail(profile);
    const isProof = email !== null && email.toLowerCase() === holder.email?.toLowerCase();
    const proof = isProof && holder.emailVerifiedAt === null ? { emailVerifiedAt: clock() } : {};
    if (!provider.SYNC_USER_INFO) return proof;
    const { firstName, lastName } = profile;
    const info = {
      ...proof,
      ...(firstName === null || firstName === holder.firstName ? {} : { firstName }),
      ...(lastName === null || lastName === holder.lastName ? {} : { lastName }),
    };
    if (email === null || email === holder.email) return info;
    await endUnclaimedUsers(tx, activity, { userId: holder.id, client }, [email], holder.id);
    const owner = await findRecipientByEmail(tx, email);
    if (!owner || owner.id === holder.id) return { ...info, email, emailVerifiedAt: clock() };
    warn('the email address belongs to another user', { user: holder.id });
    return info;
  };

  /** Applies the data of a later login. It changes only users whose primary account is at this provider, not users who only linked one. */
  const update = async (
    tx: Executor,
    profile: PendingProfile,
    holder: IdentityHolder,
    client: Client,
    warn: Warn,
  ): Promise<void> => {
    const changes: ProviderUserChanges = holder.isPrimary
      ? { ...(await newInfo(tx, profile, holder, client, warn)), ...(profile.data ? { authData: profile.data } : {}) }
      : {};
    const role = holder.isPrimary ? newRole(profile, holder, warn) : undefined;
    if (role !== undefined) await lockAdministrators(tx);
    const [former] = changes.email === undefined ? [] : await readAccountStates(tx, [holder.id]);
    const isStillActive = await updateProviderUser(tx, holder.id, role === undefined ? changes : { ...changes, role });
    if (!isStillActive) throw notActive(holder);
    const isRoleKept = role !== undefined && !(await hasActiveAdministrator(tx, acceptsPasskeys));
    if (isRoleKept) {
      await updateProviderUser(tx, holder.id, { role: holder.role });
      warn('the role of the last administrator is kept', { user: holder.id });
    }
    if (changes.email !== undefined) {
      await deleteSessionsOf(tx, [holder.id], null);
      await deleteEmailChange(tx, holder.id);
    }
    await noteIdentityUse(tx, holder.identity, profile.email, clock());
    const changed = changedFields({ ...changes, ...(role === undefined || isRoleKept ? {} : { role }) });
    if (changed.length > 0) {
      const details = former && { details: { former } };
      const events = [{ action: 'update', collection: 'users', item: holder.id, changed, ...details } as const];
      await activity.record(tx, { userId: holder.id, client }, events);
    }
  };

  /** The user was not active when they were read, or has been changed since. */
  const notActive = (holder: IdentityHolder | undefined) =>
    invalidCredentials(holder?.id, holder ? reasonOfStatus(holder.status) : 'unknown_user');

  /** @throws {ApiError} INVALID_CREDENTIALS when the user is managed, and this is not the account that determines their role */
  const requireAllowed = (holder: IdentityHolder): void => {
    if (signInMethods.allowsIdentity(holder, { provider: provider.key, isPrimary: holder.isPrimary })) return;
    throw invalidCredentials(holder.id, 'managed');
  };

  const begin = async (
    tx: Executor,
    holder: IdentityHolder,
    mode: SessionMode,
    client: Client,
    changes: LoginChanges,
  ) => {
    const issued = await sessions.begin(tx, { id: holder.id, tfaSecret: holder.tfaSecret }, mode, client, changes);
    if (!issued) throw notActive(holder);
    return issued;
  };

  /**
   * Otherwise, any account at the provider could be used to become an administrator.
   * @throws {ApiError} INVALID_PROVIDER_CONFIG
   */
  const requireSafeDefaultRole = async (): Promise<void> => {
    if ((await rolesWithAdminAccess(db, openRoles(provider))).size === 0) return;
    throw misconfigured(provider.key, 'With ALLOW_PUBLIC_REGISTRATION, DEFAULT_ROLE_ID must not lead to admin_access.');
  };

  /** Changes nothing, because the user has provided only one of two factors. */
  const wait = ({ email, isEmailVerified, firstName, lastName, groups, data }: Profile, holder: IdentityHolder) => {
    if (holder.status !== 'active') throw notActive(holder);
    const kept = Buffer.byteLength(JSON.stringify(data)) <= maxKept ? data : null;
    const mapped = groups && [mappingOf({ groups })?.[0] ?? []].flat();
    const pendingProfile = { email, isEmailVerified, firstName, lastName, groups: mapped, data: kept };
    return { waiting: { identity: holder.identity, profile: pendingProfile } };
  };

  /** Converts a constraint violation into an API error. @param taken code for an address that another user has */
  const toConstraintError = (error: unknown, taken: 'INVALID_PROVIDER' | 'INVALID_CREDENTIALS'): unknown => {
    const broken = brokenConstraint(error);
    if (!broken) return error;
    // Another user took the address between the check and the write. Any other violation means that the role does not exist.
    if (broken.kind === 'unique') return refused(error, taken);
    return misconfigured(provider.key, error);
  };

  return {
    logIn: async (profile, mode, client, warn) => {
      const identifier = requireAcceptable(profile);
      requireVerifiedEmail(profile);
      await requireSafeDefaultRole();
      try {
        return await transact(db, async (tx) => {
          const known = await findIdentityHolder(tx, provider.key, identifier, ignoresCase);
          const holder = known ?? (await register(tx, profile, identifier, client));
          requireAllowed(holder);
          if (holder.tfaSecret !== null) return wait(profile, holder);
          await update(tx, profile, holder, client, warn);
          return { issued: await begin(tx, holder, mode, client, { proved: { provider: true } }) };
        });
      } catch (error) {
        throw toConstraintError(error, 'INVALID_PROVIDER');
      }
    },

    complete: async (pending, otp, mode, client, warn) => {
      const holder = await findIdentityHolderById(db, provider.key, pending.identity);
      if (holder?.status !== 'active') throw notActive(holder);
      requireAllowed(holder);
      await requireSafeDefaultRole();
      const code = await secondFactor.require(holder, otp, client);
      try {
        return await transact(db, async (tx) => {
          if (!(await spendState(tx, pending.id, new Date(pending.expires)))) {
            throw refused('The login has already been completed.');
          }
          await update(tx, pending.profile, holder, client, warn);
          const changes = { proved: { provider: true, code }, hasOwnNotice: code?.kind === 'recovery' };
          const issued = await begin(tx, holder, mode, client, changes);
          if (code) await secondFactor.consume(tx, holder.id, code, { userId: holder.id, client });
          return issued;
        });
      } catch (error) {
        throw toConstraintError(error, 'INVALID_CREDENTIALS');
      }
    },

    link: async (profile, to, client) => {
      const { email } = profile;
      const identifier = requireAcceptable(profile);
      const identity = {
        user: to.user,
        provider: provider.key,
        identifier,
        email,
        isPrimary: false,
        createdAt: clock(),
      };
      const isLinked = await db.transaction(async (tx) => {
        // The row is locked before the session is read, so that nothing can end the session until the identity is written.
        const user = await lockRecipient(tx, to.user);
        const principal = await findPrincipalBySession(tx, to.session);
        const stands =
          principal?.id === to.user &&
          principal.status === 'active' &&
          // An administrator may have made the user a managed one since the start.
          user !== undefined &&
          !signInMethods.isManaged(user) &&
          principal.session.expires_at > clock().getTime();
        if (!stands) throw refused('The session that started the linking has ended.');
        // The unique index is case-sensitive. If the provider ignores case, this finds identifiers with other capitalization.
        if (ignoresCase && (await findIdentityHolder(tx, provider.key, identifier, true))) return false;
        if (!(await insertIdentity(tx, identity))) return false;
        const linked = await findIdentityHolder(tx, provider.key, identifier, ignoresCase);
        const item = linked?.identity ?? null;
        const details = { provider: provider.key, owner: to.user };
        const events = [{ action: 'identity_link', collection: 'identities', item, details } as const];
        await activity.record(tx, { userId: to.user, client }, events);
        return true;
      });
      if (isLinked) return;
      const holder = await findIdentityHolder(db, provider.key, identifier, ignoresCase);
      if (holder?.id !== to.user) throw refused(linkedMeanwhile, 'INVALID_PROVIDER');
    },
  };
}

const linkedMeanwhile = 'The account at the provider is linked to another user.';

/** Google sends the domain of the organization that manages an account, unless none does. */
const isGoogle = ({ key, ISSUER_URL, PARAMS }: ProviderConfig): boolean =>
  key.toLowerCase() === 'google' ||
  ISSUER_URL?.startsWith('https://accounts.google.com') === true ||
  PARAMS.some(([name]) => name === 'hd');

const fieldOf: Readonly<Record<keyof ProviderUserChanges, string>> = {
  authData: 'auth_data',
  role: 'role',
  email: 'email',
  emailVerifiedAt: 'email_verified_at',
  firstName: 'first_name',
  lastName: 'last_name',
};

/** The API names of the changed fields, except those that every login updates. */
const changedFields = (changes: ProviderUserChanges): string[] =>
  (Object.keys(changes) as (keyof ProviderUserChanges)[])
    .filter((name) => name !== 'authData' && name !== 'emailVerifiedAt' && changes[name] !== undefined)
    .map((name) => fieldOf[name]);
