import { and, count, desc, eq, gt, or, sql } from 'drizzle-orm';
import type { AccountExport, Profile } from '../../../schemas/own-account.js';
import type { Executor } from '../../client.js';
import {
  activity,
  emailChanges,
  identities,
  knownNetworks,
  policies,
  recoveryCodes,
  roles,
  sessions,
  storedResponses,
  userPolicies,
  users,
  userUses,
} from '../../schema.js';
import { listGrants } from '../applications/grants.js';
import { listIdentities } from '../providers/identities.js';
import { countPasskeys, listPasskeys } from '../webauthn/passkeys.js';

/** Maximum number of rows of each kind in an export. */
const maxExported = 1000;

const isOf = (id: string) => eq(users.id, id);

async function countRecoveryCodes(executor: Executor, user: string): Promise<number> {
  const [found] = await executor.select({ left: count() }).from(recoveryCodes).where(eq(recoveryCodes.user, user));
  return found?.left ?? 0;
}

/** @returns undefined when there is no such user */
export async function readProfile(executor: Executor, id: string, now: Date): Promise<Profile | undefined> {
  const [found] = await executor
    .select({
      user: users,
      lastAccess: userUses.lastAccess,
      role: { id: roles.id, name: roles.name },
      pending: emailChanges.email,
    })
    .from(users)
    .innerJoin(userUses, eq(userUses.user, users.id))
    .leftJoin(roles, eq(roles.id, users.role))
    .leftJoin(emailChanges, and(eq(emailChanges.user, users.id), gt(emailChanges.expiresAt, now)))
    .where(isOf(id));
  if (!found) return undefined;
  const { user, lastAccess, role, pending } = found;
  const linked = await executor
    .selectDistinct({ provider: identities.provider })
    .from(identities)
    .where(eq(identities.user, id))
    .orderBy(identities.provider);
  return {
    id,
    email: user.email,
    email_verified: user.emailVerifiedAt !== null,
    pending_email: pending,
    first_name: user.firstName,
    last_name: user.lastName,
    avatar: user.avatar,
    language: user.language,
    role,
    created_at: user.createdAt,
    last_access: lastAccess,
    has_password: user.password !== null && user.provider === 'default',
    tfa_enabled: user.tfaSecret !== null,
    recovery_codes_left: await countRecoveryCodes(executor, id),
    passkeys: await countPasskeys(executor, id),
    providers: linked.map(({ provider }) => provider),
  };
}

/** Columns of a profile that its user may change. */
export interface ProfileColumns {
  firstName?: string | null;
  lastName?: string | null;
  language?: string | null;
  avatar?: string | null;
}

export async function writeProfile(tx: Executor, id: string, columns: ProfileColumns): Promise<void> {
  await tx.update(users).set(columns).where(isOf(id));
}

/** All data that is stored about a user, without secrets. @returns undefined when there is no such user */
export async function readExport(executor: Executor, id: string, now: Date): Promise<AccountExport | undefined> {
  const [found] = await executor
    .select({ user: users, uses: userUses, role: { id: roles.id, name: roles.name } })
    .from(users)
    .innerJoin(userUses, eq(userUses.user, users.id))
    .leftJoin(roles, eq(roles.id, users.role))
    .where(isOf(id));
  if (!found) return undefined;
  const { user, uses, role } = found;
  const [pending] = await executor
    .select({ email: emailChanges.email, created_at: emailChanges.createdAt, expires_at: emailChanges.expiresAt })
    .from(emailChanges)
    .where(and(eq(emailChanges.user, id), gt(emailChanges.expiresAt, now)));
  return {
    exported_at: now,
    user: {
      id,
      email: user.email,
      email_verified_at: user.emailVerifiedAt,
      first_name: user.firstName,
      last_name: user.lastName,
      location: user.location,
      title: user.title,
      description: user.description,
      tags: user.tags,
      avatar: user.avatar,
      language: user.language,
      status: user.status,
      role,
      policies: await executor
        .select({ id: policies.id, name: policies.name })
        .from(userPolicies)
        .innerJoin(policies, eq(policies.id, userPolicies.policy))
        .where(eq(userPolicies.user, id))
        .orderBy(policies.name, policies.id),
      created_at: user.createdAt,
      last_access: uses.lastAccess,
      last_page: user.lastPage,
      provider: user.provider,
      external_identifier: user.externalIdentifier,
      auth_data: user.authData,
      email_notifications: user.emailNotifications,
      appearance: user.appearance,
      theme_dark: user.themeDark,
      theme_light: user.themeLight,
      theme_light_overrides: user.themeLightOverrides,
      theme_dark_overrides: user.themeDarkOverrides,
      has_password: user.password !== null,
      has_token: user.tokenHash !== null,
      token_set_at: user.tokenSetAt,
      tfa_enabled: user.tfaSecret !== null,
      recovery_codes_left: await countRecoveryCodes(executor, id),
    },
    pending_email_change: pending ?? null,
    identities: await listIdentities(executor, id),
    passkeys: await listPasskeys(executor, id),
    grants: await listGrants(executor, id, maxExported, { firstParty: true }),
    sessions: await executor
      .select({
        id: sessions.id,
        created_at: sessions.createdAt,
        authenticated_at: sessions.authenticatedAt,
        amr: sessions.amr,
        last_used_at: sessions.lastUsedAt,
        expires_at: sessions.expiresAt,
        ip: sessions.ip,
        user_agent: sessions.userAgent,
      })
      .from(sessions)
      .where(and(eq(sessions.user, id), gt(sessions.expiresAt, now)))
      .orderBy(desc(sessions.lastUsedAt), sessions.id)
      .limit(maxExported),
    known_networks: await executor
      .select({ network: knownNetworks.network, last_login_at: knownNetworks.lastLoginAt })
      .from(knownNetworks)
      .where(eq(knownNetworks.user, id))
      .orderBy(desc(knownNetworks.lastLoginAt), knownNetworks.network)
      .limit(maxExported),
    known_devices: uses.devices ?? [],
    stored_responses: await executor
      .select({ size: storedResponses.size, expires_at: storedResponses.expiresAt })
      .from(storedResponses)
      .where(and(eq(storedResponses.user, id), gt(storedResponses.expiresAt, now)))
      .orderBy(desc(storedResponses.expiresAt), storedResponses.key)
      .limit(maxExported),
    activity: await executor
      .select({
        id: activity.id,
        timestamp: activity.timestamp,
        action: activity.action,
        outcome: activity.outcome,
        code: activity.code,
        collection: activity.collection,
        item: activity.item,
        // The address and browser of another user are not this user's data. Those of a refused sign-in help to recognize an attack.
        ip: sql<string | null>`case when ${activity.user} is null or ${activity.user} = ${id} then ${activity.ip} end`,
        user_agent: sql<
          string | null
        >`case when ${activity.user} is null or ${activity.user} = ${id} then ${activity.userAgent} end`,
        changed: activity.changed,
      })
      .from(activity)
      .where(or(eq(activity.user, id), and(eq(activity.collection, 'users'), eq(activity.item, id))))
      .orderBy(desc(activity.id))
      .limit(maxExported),
  };
}
