import { sql } from 'drizzle-orm';
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  date,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
  varchar,
} from 'drizzle-orm/pg-core';
import type { FailureReason } from '../schemas/activity.js';
import type { KeyPairAlgorithm } from '../schemas/jwks.js';
import type { AuthenticationMethod } from '../schemas/sessions.js';
import type { StatisticsInterval, StatisticsSeries } from '../schemas/statistics.js';
import { inLowerCase } from './lower-case.js';

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' });
const key = () => uuid('id').primaryKey().defaultRandom();

export const roles = pgTable(
  'roles',
  {
    id: key(),
    name: varchar('name', { length: 100 }).notNull(),
    icon: varchar('icon', { length: 64 }),
    description: text('description'),
    parent: uuid('parent').references((): AnyPgColumn => roles.id, { onDelete: 'set null' }),
  },
  (table) => [index('roles_parent_index').on(table.parent)],
);

export const policies = pgTable('policies', {
  id: key(),
  name: varchar('name', { length: 100 }).notNull(),
  icon: varchar('icon', { length: 64 }),
  description: text('description'),
  /** CIDR ranges from which the policy applies; null: from anywhere. */
  ipAccess: jsonb('ip_access').$type<string[]>(),
  enforceTfa: boolean('enforce_tfa').notNull().default(false),
  adminAccess: boolean('admin_access').notNull().default(false),
  appAccess: boolean('app_access').notNull().default(false),
});

export const permissions = pgTable(
  'permissions',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    policy: uuid('policy')
      .notNull()
      .references(() => policies.id, { onDelete: 'cascade' }),
    collection: varchar('collection', { length: 64 }).notNull(),
    action: varchar('action', { length: 16 }).$type<'create' | 'read' | 'update' | 'delete'>().notNull(),
    /** Filter that an item must match. */
    permissions: jsonb('permissions').$type<Record<string, unknown>>(),
    /** Filter that a written item must match. */
    validation: jsonb('validation').$type<Record<string, unknown>>(),
    presets: jsonb('presets').$type<Record<string, unknown>>(),
    /** Field names; `*` means all. */
    fields: jsonb('fields').$type<string[]>(),
  },
  (table) => [
    index('permissions_policy_index').on(table.policy),
    check('permissions_action_check', sql`${table.action} in ('create', 'read', 'update', 'delete')`),
  ],
);

export const users = pgTable(
  'users',
  {
    id: key(),
    firstName: varchar('first_name', { length: 50 }),
    lastName: varchar('last_name', { length: 50 }),
    /** As entered; compared in lower case. Null only for users of a provider that does not supply it. */
    email: varchar('email', { length: 128 }),
    /** When the user last proved that they read the mailbox of `email`; null: never, or the address has changed since. */
    emailVerifiedAt: moment('email_verified_at'),
    /** Argon2id hash in PHC string format; null: no login by password. */
    password: text('password'),
    location: varchar('location', { length: 255 }),
    title: varchar('title', { length: 50 }),
    description: text('description'),
    tags: jsonb('tags').$type<string[]>(),
    /** The id of a file, or the https URL of a picture. */
    avatar: varchar('avatar', { length: 255 }),
    language: varchar('language', { length: 255 }),
    /** Sealed (encrypted) TOTP secret; null: two-factor authentication is off. */
    tfaSecret: text('tfa_secret'),
    /** The TOTP time step of the last accepted code: a code works once (RFC 6238, 5.2). */
    tfaLastStep: integer('tfa_last_step'),
    /** Number of consecutive wrong codes. */
    tfaFailures: integer('tfa_failures').notNull().default(0),
    /** The time until which no further code is checked; null: no lock. */
    tfaLockedUntil: moment('tfa_locked_until'),
    status: varchar('status', { length: 16 }).notNull().default('active'),
    /**
     * Whether a registration created this row. Until the address is verified, such a row reserves nothing
     * (`isUnclaimed` in `queries/registration/unclaimed-users.ts`).
     */
    isFromRegistration: boolean('from_registration').notNull().default(false),
    /**
     * Links in emails are bound to this number. A trigger increments it whenever the status, address, password or provider
     * changes (`void_links` in `migrations/`), so links that were sent earlier stop working permanently.
     */
    usedLinks: integer('used_links').notNull().default(0),
    role: uuid('role').references(() => roles.id, { onDelete: 'set null' }),
    /** SHA-256 of the static token, in hex. */
    tokenHash: varchar('token_hash', { length: 64 }),
    /** When the static token was set. Null if the user has no static token, or its age is unknown. */
    tokenSetAt: moment('token_set_at'),
    lastPage: varchar('last_page', { length: 255 }),
    provider: varchar('provider', { length: 128 }).notNull().default('default'),
    externalIdentifier: varchar('external_identifier', { length: 255 }),
    authData: jsonb('auth_data').$type<Record<string, unknown>>(),
    emailNotifications: boolean('email_notifications').notNull().default(true),
    appearance: varchar('appearance', { length: 255 }),
    themeDark: varchar('theme_dark', { length: 255 }),
    themeLight: varchar('theme_light', { length: 255 }),
    themeLightOverrides: jsonb('theme_light_overrides').$type<Record<string, unknown>>(),
    themeDarkOverrides: jsonb('theme_dark_overrides').$type<Record<string, unknown>>(),
    createdAt: moment('created_at').notNull().defaultNow(),
    /** Until when the latest invitation can be accepted. The trigger `users_void_links` clears it. */
    inviteExpiresAt: moment('invite_expires_at'),
    /**
     * The time of the last change to the name, address, language, or picture, which applications can read. The trigger
     * `users_date_profile` sets it. If the user existed before this column, it is null until the next such change.
     */
    profileUpdatedAt: moment('profile_updated_at').defaultNow(),
  },
  (table) => [
    uniqueIndex('users_email_unique').on(inLowerCase(table.email)),
    uniqueIndex('users_token_hash_unique').on(table.tokenHash),
    uniqueIndex('users_external_identifier_unique').on(table.provider, table.externalIdentifier),
    // With the ID, because lists are in the order of the ID. Without it, PostgreSQL would read all users in this order to find a few.
    index('users_role_index').on(table.role, table.id),
    index('users_status_index').on(table.status, table.id),
    // For the statistics. Only few users have such a row, so other changes do not write to these indexes.
    index('users_invites_index').on(table.inviteExpiresAt, table.id).where(sql`${table.status} = 'invited'`),
    index('users_unverified_index')
      .on(table.id)
      .where(sql`${table.status} = 'active' and ${table.email} is not null and ${table.emailVerifiedAt} is null`),
    index('users_tfa_locked_index').on(table.tfaLockedUntil).where(sql`${table.tfaLockedUntil} is not null`),
    check(
      'users_status_check',
      sql`${table.status} in ('draft', 'invited', 'unverified', 'active', 'suspended', 'archived')`,
    ),
  ],
);

/**
 * Data that changes with every use of the API. Each user has one row, created by triggers on `users`. If this data were in `users`,
 * each change would write the whole row and an entry in every index. The rows are small, their pages have free space, and no index
 * contains `last_access` itself, so that an update usually writes nothing but the new row (a heap-only tuple).
 */
export const userUses = pgTable(
  'user_uses',
  {
    user: uuid('user')
      .primaryKey()
      .references(() => users.id, { onDelete: 'cascade' }),
    lastAccess: moment('last_access'),
    /** The hour of the last access in UTC, which the index contains instead of the exact time. */
    lastAccessHour: timestamp('last_access_hour', { precision: 0 }).generatedAlwaysAs(
      sql`date_trunc('hour', last_access at time zone 'UTC')`,
    ),
    /**
     * The ID of the user if they have never used the API, otherwise null. In all rows of such users, the hour is null; thanks to this
     * column, the index still returns them in the order of their IDs.
     */
    neverUsed: uuid('never_used').generatedAlwaysAs(sql`case when last_access is null then "user" end`),
    /**
     * The kinds of device with which the user has logged in, latest first. Null: none is known yet. Each is a key (`deviceKeyOf`), such as
     * `Firefox, Linux`, and can contain text of the client: never display it. They are here because a login updates this row anyway.
     */
    devices: text('devices').array(),
  },
  // Latest first, so that only rows with the same hour still have to be sorted.
  (table) => [index('user_uses_order_index').on(sql`${table.lastAccessHour} desc`, table.neverUsed)],
);

/**
 * For each user and each hour in which they used the API, a row until the use has been counted in `activity_counts`. A trigger on
 * `user_uses` inserts it (`add_active_hour` in `migrations/`), in the same transaction and without waiting for other transactions.
 */
export const activeHours = pgTable('active_hours', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  /** In UTC. */
  hour: timestamp('hour', { precision: 0 }).notNull(),
  /** The hour in which the same user used the API before; null: never. */
  previous: timestamp('previous', { precision: 0 }),
});

/**
 * The number of users, as the sum of these rows. For each statement that adds or deletes users, a trigger on `users` inserts a
 * row (`count_users` in `migrations/`), in the same transaction and without waiting for other transactions.
 */
export const userCounts = pgTable('user_counts', {
  id: key(),
  change: bigint('change', { mode: 'number' }).notNull(),
});

/**
 * A single row. Triggers replace its value in every transaction that changes roles, policies, permissions, or the public policy
 * (`change_grants_version` in `migrations/`). As long as it is the same, what was read from these tables earlier is up to date. The value is
 * random, so that it never returns, not even if a failover loses transactions.
 */
export const grantsVersion = pgTable(
  'grants_version',
  {
    id: integer('id').primaryKey().default(1),
    version: uuid('version').notNull().defaultRandom(),
  },
  (table) => [check('grants_version_single_row', sql`${table.id} = 1`)],
);

export const rolePolicies = pgTable(
  'role_policies',
  {
    role: uuid('role')
      .notNull()
      .references(() => roles.id, { onDelete: 'cascade' }),
    policy: uuid('policy')
      .notNull()
      .references(() => policies.id, { onDelete: 'cascade' }),
  },
  (table) => [
    primaryKey({ columns: [table.role, table.policy] }),
    index('role_policies_policy_index').on(table.policy),
  ],
);

export const userPolicies = pgTable(
  'user_policies',
  {
    user: uuid('user')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    policy: uuid('policy')
      .notNull()
      .references(() => policies.id, { onDelete: 'cascade' }),
  },
  (table) => [
    primaryKey({ columns: [table.user, table.policy] }),
    // With the user, for the same reason as `users_role_index`.
    index('user_policies_policy_index').on(table.policy, table.user),
  ],
);

/**
 * Each row is one login: the family of all refresh tokens (or session cookies) that follow from it. A refresh updates the row. A
 * logout deletes it, which invalidates every token of the family.
 */
export const sessions = pgTable(
  'sessions',
  {
    id: key(),
    user: uuid('user')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** SHA-256 of the only valid refresh token, in hex; null in `session` mode, which has none. */
    tokenHash: varchar('token_hash', { length: 64 }),
    /** Number of times the session was refreshed; identifies the valid token. */
    generation: integer('generation').notNull().default(0),
    /** When the previous generation was replaced, by the database's clock (see `advanceSession`); null: this is the first generation. */
    replacedAt: moment('replaced_at'),
    createdAt: moment('created_at').notNull(),
    /** When the user last proved their identity in this session: at login, or by authenticating again. */
    authenticatedAt: moment('authenticated_at').notNull().defaultNow(),
    lastUsedAt: moment('last_used_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    /** The day in UTC on which the session expires. The index contains it instead of the exact time, which each refresh changes. */
    expiresOn: date('expires_on').generatedAlwaysAs(sql`(expires_at at time zone 'UTC')::date`),
    ip: varchar('ip', { length: 45 }),
    userAgent: varchar('user_agent', { length: 255 }),
    /** Whether a passkey that verified the user was proved in this session: at login, later, or by adding it. It counts as two factors. */
    isVerifiedByPasskey: boolean('verified_by_passkey').notNull().default(false),
    /** What the user has proved in this session, in alphabetical order. Empty: an earlier version started the session. */
    amr: text('amr').array().$type<AuthenticationMethod[]>().notNull().default([]),
  },
  (table) => [index('sessions_user_index').on(table.user), index('sessions_expires_on_index').on(table.expiresOn)],
);

/**
 * Registrations of addresses that are not verified yet. Each one is independent of the others: verifying it activates its own
 * password and names, and deletes the rest.
 */
export const registrations = pgTable(
  'registrations',
  {
    id: key(),
    user: uuid('user')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Argon2id hash in PHC string format. */
    password: text('password').notNull(),
    firstName: varchar('first_name', { length: 50 }),
    lastName: varchar('last_name', { length: 50 }),
    /** SHA-256 of the cookie of the browser that registered, in hex. */
    browserHash: varchar('browser_hash', { length: 64 }),
    /** The `verification_url` from the request; null: the default page. */
    url: text('url'),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
  },
  (table) => [
    index('registrations_user_index').on(table.user),
    index('registrations_expires_at_index').on(table.expiresAt),
  ],
);

/** Changes of email address that await confirmation from the new address. A newer request replaces the older one. */
export const emailChanges = pgTable(
  'email_changes',
  {
    user: uuid('user')
      .primaryKey()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Identifies this request; links of an older request are void. */
    id: uuid('id').notNull().defaultRandom(),
    email: varchar('email', { length: 128 }).notNull(),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
  },
  (table) => [index('email_changes_expires_at_index').on(table.expiresAt)],
);

/**
 * Requests to sign in by email, or to prove one's identity with a code from an email. A newer request from the same browser, app, or
 * session replaces the older one for the same user and purpose. Requests from elsewhere do not affect each other.
 */
export const emailCodes = pgTable(
  'email_codes',
  {
    id: key(),
    user: uuid('user')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    purpose: varchar('purpose', { length: 16 }).$type<'login' | 'reauthentication'>().notNull(),
    /** HMAC of the code, in hex. Without a key, six digits could be guessed from their hash. */
    codeHash: varchar('code_hash', { length: 64 }).notNull(),
    /** HMAC of the token in the link, in hex; null: the email has no link. */
    tokenHash: varchar('token_hash', { length: 64 }),
    /** HMAC, in hex, of what identifies the browser, app, or session that made the request. The code works only there. */
    bindingHash: varchar('binding_hash', { length: 64 }).notNull(),
    /** The number of further wrong codes after which the code is void. The link remains valid. */
    attemptsLeft: integer('attempts_left').notNull(),
    /** The account page or app that the browser opens after a login with the link; null: the account page. It is not in the email. */
    redirect: varchar('redirect', { length: 255 }),
    /** `used_links` of the user at the time. The request is void once the user's status, address, password or provider changes. */
    usedLinks: integer('used_links').notNull(),
    requestedAt: moment('requested_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
  },
  (table) => [
    uniqueIndex('email_codes_binding_unique').on(table.user, table.purpose, table.bindingHash),
    uniqueIndex('email_codes_token_hash_unique').on(table.tokenHash),
    index('email_codes_expires_at_index').on(table.expiresAt),
    check('email_codes_purpose_check', sql`${table.purpose} in ('login', 'reauthentication')`),
  ],
);

/**
 * Attempts on the password of an account, real or not, since the last correct one. Rows may be deleted when there has been no
 * attempt for a while.
 */
export const loginAttempts = pgTable(
  'login_attempts',
  {
    /** SHA-256, in hex, of what is counted together: an account, or an account from one network. */
    key: varchar('key', { length: 64 }).primaryKey(),
    /** The key of the account as a whole, which all rows of the account contain. */
    account: varchar('account', { length: 64 }).notNull(),
    failures: integer('failures').notNull(),
    /** The time until which no further password is checked; null: no lock. */
    lockedUntil: moment('locked_until'),
    lastAttemptAt: moment('last_attempt_at').notNull(),
  },
  (table) => [
    index('login_attempts_last_attempt_at_index').on(table.lastAttemptAt),
    index('login_attempts_account_index').on(table.account, table.lockedUntil),
    index('login_attempts_locked_index')
      .on(table.lockedUntil, table.account)
      .where(sql`${table.lockedUntil} is not null`),
  ],
);

/** The networks from which a user has logged in. Attempts from there are counted separately from those from unknown networks. */
export const knownNetworks = pgTable(
  'known_networks',
  {
    user: uuid('user')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** An IPv4 address, or the first address of an IPv6 /64. */
    network: varchar('network', { length: 45 }).notNull(),
    lastLoginAt: moment('last_login_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.user, table.network] }),
    index('known_networks_last_login_at_index').on(table.lastLoginAt),
  ],
);

/** Codes that can replace the authenticator app. Each can be used once: using a code deletes its row. */
export const recoveryCodes = pgTable(
  'recovery_codes',
  {
    user: uuid('user')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** SHA-256 of the code, in hex. */
    hash: varchar('hash', { length: 64 }).notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.user, table.hash] })],
);

/**
 * The identities of a user at providers: one row for each external account with which they can log in. The primary one matches `provider`
 * and `external_identifier` of the user and is kept in sync with them.
 */
export const identities = pgTable(
  'identities',
  {
    id: key(),
    user: uuid('user')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    provider: varchar('provider', { length: 128 }).notNull(),
    /** Identifier of the user at the provider, exactly as the provider spells it, unless the provider is configured to ignore case. */
    identifier: varchar('identifier', { length: 255 }).notNull(),
    /** As the provider supplies it, so that people can recognize the account. It affects no decision. */
    email: text('email'),
    isPrimary: boolean('is_primary').notNull().default(false),
    createdAt: moment('created_at').notNull().defaultNow(),
    lastUsedAt: moment('last_used_at'),
  },
  (table) => [
    // For providers whose identifiers are compared without regard to letter case.
    index('identities_folded_identifier_index').on(table.provider, inLowerCase(table.identifier)),
    // Created after the index above, because PostgreSQL prefers the newer one of indexes that seem equally fast, as in a small table.
    uniqueIndex('identities_external_identifier_unique').on(table.provider, table.identifier),
    uniqueIndex('identities_primary_unique').on(table.user).where(sql`${table.isPrimary}`),
    index('identities_user_index').on(table.user),
  ],
);

/** Passkeys (WebAuthn Level 3): what the service stores about the key pairs with which users sign in. */
export const passkeys = pgTable(
  'passkeys',
  {
    id: key(),
    user: uuid('user')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Identifies the key pair to the authenticator: at most 1023 bytes, in base64url. */
    credentialId: varchar('credential_id', { length: 1364 }).notNull(),
    /** The public key in COSE format (RFC 9052, 7), in base64url. */
    publicKey: text('public_key').notNull(),
    /** How many times the authenticator has signed; 0 if it does not count. A value lower than the stored one indicates a copied key. */
    counter: bigint('counter', { mode: 'number' }).notNull(),
    /** How browsers reach the authenticator, such as `internal` or `usb`. */
    transports: jsonb('transports').$type<string[]>().notNull(),
    /** Whether the key pair can be backed up, as the authenticator last reported. */
    isBackupEligible: boolean('backup_eligible').notNull(),
    isBackedUp: boolean('backed_up').notNull(),
    /** The model of the authenticator; all zeros if it does not say. */
    aaguid: uuid('aaguid').notNull(),
    name: varchar('name', { length: 100 }).notNull(),
    createdAt: moment('created_at').notNull(),
    lastUsedAt: moment('last_used_at'),
  },
  (table) => [
    uniqueIndex('passkeys_credential_id_unique').on(table.credentialId),
    index('passkeys_user_index').on(table.user),
  ],
);

/**
 * Things that can be used only once and have been used: the states of provider logins whose callback has been received, challenges
 * that a passkey has signed, and links in security notices. Expired rows may be deleted.
 */
export const spentStates = pgTable(
  'spent_states',
  {
    id: varchar('id', { length: 64 }).primaryKey(),
    expiresAt: moment('expires_at').notNull(),
  },
  (table) => [index('spent_states_expires_at_index').on(table.expiresAt)],
);

/** The responses to requests with an `Idempotency-Key`, for the case that the request is repeated. */
export const storedResponses = pgTable(
  'stored_responses',
  {
    /** Whose key it is. The migration defers this reference, so that parallel requests of a user do not wait for each other. */
    user: uuid('user')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** A hash of the key, and of the application that sent it. */
    key: varchar('key', { length: 64 }).notNull(),
    /** Encrypted. Empty until the request has been carried out, which no other transaction sees. */
    response: text('response').notNull(),
    /** The length of the response, so that the bound per user can be checked without reading the responses. */
    size: integer('size').notNull(),
    expiresAt: moment('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.user, table.key] }),
    index('stored_responses_user_expires_at_index').on(table.user, table.expiresAt, table.size),
    index('stored_responses_expires_at_index').on(table.expiresAt),
  ],
);

const list = (name: string) => jsonb(name).$type<string[]>();
const noItems = sql`'[]'::jsonb`;

/** The applications that sign users in with Gatehouse (OpenID Connect clients). */
export const clients = pgTable(
  'clients',
  {
    id: key(),
    name: varchar('name', { length: 100 }).notNull(),
    logoUri: text('logo_uri'),
    /** Confidential clients have a secret; public ones, such as apps, cannot keep one. */
    type: varchar('type', { length: 16 }).$type<'public' | 'confidential'>().notNull(),
    /** Exactly as they were entered, because they are compared character by character. */
    redirectUris: list('redirect_uris').notNull().default(noItems),
    postLogoutRedirectUris: list('post_logout_redirect_uris').notNull().default(noItems),
    /** The origins whose pages may call the protocol's endpoints from a browser. */
    allowedOrigins: list('allowed_origins').notNull().default(noItems),
    grantTypes: list('grant_types').notNull().default(sql`'["authorization_code", "refresh_token"]'::jsonb`),
    /** The scopes that the client may request; null: all scopes of OpenID Connect and of its resources. */
    scopes: list('scopes'),
    /**
     * The identifiers of the resources that the client may request. A trigger keeps them up to date when a resource is renamed or deleted
     * (`update_client_resources` in `migrations/`).
     */
    resources: list('resources').notNull().default(noItems),
    /** Users are not asked for consent. */
    firstParty: boolean('first_party').notNull().default(false),
    /** ID tokens contain only the claims of the protocol. */
    minimalIdToken: boolean('minimal_id_token').notNull().default(false),
    /** Durations, such as `15m`; null: the default. */
    accessTokenTtl: varchar('access_token_ttl', { length: 16 }),
    refreshTokenTtl: varchar('refresh_token_ttl', { length: 16 }),
    idTokenSignedResponseAlg: varchar('id_token_signed_response_alg', { length: 16 })
      .$type<'RS256' | 'ES256' | 'EdDSA'>()
      .notNull()
      .default('RS256'),
    backchannelLogoutUri: text('backchannel_logout_uri'),
    pkceRequired: boolean('pkce_required').notNull().default(true),
    /** Whether the configuration declares it, so that it cannot be changed through the API. */
    declared: boolean('declared').notNull().default(false),
    createdAt: moment('created_at').notNull().defaultNow(),
  },
  (table) => [
    check('clients_type_check', sql`${table.type} in ('public', 'confidential')`),
    check(
      'clients_id_token_signed_response_alg_check',
      sql`${table.idTokenSignedResponseAlg} in ('RS256', 'ES256', 'EdDSA')`,
    ),
  ],
);

/** The secrets of confidential clients. A client has one without an end and, for a day after a change, the one before it. */
export const clientSecrets = pgTable(
  'client_secrets',
  {
    id: key(),
    client: uuid('client')
      .notNull()
      .references(() => clients.id, { onDelete: 'cascade' }),
    /** SHA-256 of the secret, in hex. */
    hash: varchar('hash', { length: 64 }).notNull(),
    createdAt: moment('created_at').notNull(),
    /** The time until which a replaced secret is accepted; null: the secret is the current one. */
    expiresAt: moment('expires_at'),
  },
  (table) => [index('client_secrets_client_index').on(table.client)],
);

/** APIs that accept access tokens of Gatehouse (resource servers). */
export const resources = pgTable(
  'resources',
  {
    id: key(),
    /** An absolute URI without a fragment: the audience of the tokens. */
    identifier: varchar('identifier', { length: 255 }).notNull(),
    name: varchar('name', { length: 100 }).notNull(),
    scopes: list('scopes').notNull().default(noItems),
    accessTokenTtl: varchar('access_token_ttl', { length: 16 }).notNull().default('10m'),
    /** Whether clients that are not registered can request tokens for it. */
    openToUnregistered: boolean('open_to_unregistered').notNull().default(false),
    /** As in `clients`. */
    declared: boolean('declared').notNull().default(false),
    createdAt: moment('created_at').notNull().defaultNow(),
  },
  (table) => [uniqueIndex('resources_identifier_unique').on(table.identifier)],
);

/** The access that users have given to applications: one row for each user and client. */
export const oauthGrants = pgTable(
  'oauth_grants',
  {
    id: key(),
    user: uuid('user')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** The client ID: the ID of a registered client, or the URL of the client's own metadata. */
    client: text('client').notNull(),
    /** The same, for a registered client; otherwise null. */
    registeredClient: uuid('registered_client').references(() => clients.id, { onDelete: 'cascade' }),
    /** The scopes that are not those of a resource. */
    scopes: list('scopes').notNull().default(noItems),
    /** The scopes of each resource, by its identifier. */
    resources: jsonb('resources').$type<Record<string, string[]>>().notNull().default(sql`'{}'::jsonb`),
    /** For a client that nobody registered: its name, and a hash of what the user saw, which ends the consent when it changes. */
    clientName: varchar('client_name', { length: 100 }),
    digest: varchar('digest', { length: 64 }),
    createdAt: moment('created_at').notNull(),
    lastUsedAt: moment('last_used_at'),
  },
  (table) => [
    uniqueIndex('oauth_grants_user_client_unique').on(table.user, table.client),
    index('oauth_grants_registered_client_index').on(table.registeredClient),
  ],
);

/**
 * What the OpenID Connect provider stores: codes, tokens, and requests that are in progress. The foreign keys delete a row as soon as what
 * it depends on ends.
 */
export const oauthRecords = pgTable(
  'oauth_records',
  {
    /** SHA-256, in hex, of the value that the client presents. */
    hash: varchar('hash', { length: 64 }).primaryKey(),
    kind: varchar('kind', { length: 32 }).notNull(),
    payload: jsonb('payload').$type<Record<string, unknown>>().notNull(),
    client: text('client'),
    registeredClient: uuid('registered_client').references(() => clients.id, { onDelete: 'cascade' }),
    user: uuid('user').references(() => users.id, { onDelete: 'cascade' }),
    session: uuid('session').references(() => sessions.id, { onDelete: 'cascade' }),
    grant: uuid('grant').references(() => oauthGrants.id, { onDelete: 'cascade' }),
    /** The resource that an access token is for. */
    resource: uuid('resource').references(() => resources.id, { onDelete: 'cascade' }),
    /** The access token from which this one was exchanged. */
    parent: varchar('parent', { length: 64 }).references((): AnyPgColumn => oauthRecords.hash, { onDelete: 'cascade' }),
    /** What was issued for the same code is revoked together. */
    family: uuid('family').notNull(),
    /** Whether it outlives a session that merely expires (`offline_access`). */
    isOffline: boolean('offline').notNull().default(false),
    /** HMAC of the code that the user enters (RFC 8628), in hex. A plain hash of eight letters could be reversed. */
    userCodeHash: varchar('user_code_hash', { length: 64 }),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    /** When it was used, if it can be used only once. */
    consumedAt: moment('consumed_at'),
    /** When the device last asked whether the user has decided. */
    polledAt: moment('polled_at'),
  },
  (table) => [
    uniqueIndex('oauth_records_user_code_hash_unique').on(table.userCodeHash),
    index('oauth_records_family_index').on(table.family),
    index('oauth_records_session_index').on(table.session),
    index('oauth_records_grant_index').on(table.grant),
    index('oauth_records_user_index').on(table.user),
    index('oauth_records_registered_client_index').on(table.registeredClient),
    index('oauth_records_resource_index').on(table.resource),
    index('oauth_records_parent_index').on(table.parent),
    index('oauth_records_expires_at_index').on(table.expiresAt),
  ],
);

/**
 * The applications that must be notified when a session ends: those that received tokens in it and have a `backchannel_logout_uri`.
 * However a session ends, its foreign key becomes null, in the same transaction. Such rows are notifications that are still to be queued.
 */
export const sessionClients = pgTable(
  'session_clients',
  {
    /** The session, which applications know as `sid`. */
    sid: uuid('sid').notNull(),
    client: uuid('client')
      .notNull()
      .references(() => clients.id, { onDelete: 'cascade' }),
    /** Without a foreign key, because the notification names the user, who may have been deleted. */
    user: uuid('user').notNull(),
    /** The same as `sid`; null: the session has ended. */
    session: uuid('session').references(() => sessions.id, { onDelete: 'set null' }),
  },
  (table) => [
    primaryKey({ columns: [table.sid, table.client] }),
    index('session_clients_session_index').on(table.session),
    index('session_clients_client_index').on(table.client),
  ],
);

/** A single row: the settings of the project. */
export const settings = pgTable(
  'settings',
  {
    id: integer('id').primaryKey().default(1),
    projectName: varchar('project_name', { length: 100 }).notNull().default('Gatehouse'),
    projectColor: varchar('project_color', { length: 50 }),
    projectLogo: text('project_logo'),
    defaultLanguage: varchar('default_language', { length: 255 }).notNull().default('en-US'),
    publicRegistration: boolean('public_registration').notNull().default(false),
    publicRegistrationVerifyEmail: boolean('public_registration_verify_email').notNull().default(true),
    publicRegistrationRole: uuid('public_registration_role').references(() => roles.id, { onDelete: 'set null' }),
    publicRegistrationEmailFilter: jsonb('public_registration_email_filter').$type<Record<string, unknown>>(),
    publicPolicy: uuid('public_policy').references(() => policies.id, { onDelete: 'set null' }),
    authPasswordPolicy: text('auth_password_policy'),
    authLoginAttempts: integer('auth_login_attempts').default(25),
    /** Whether users may change their own profile, email address, and passkeys, and export or delete their data. */
    selfService: boolean('self_service').notNull().default(true),
    selfDeletion: boolean('self_deletion').notNull().default(false),
    emailLogin: boolean('email_login').notNull().default(false),
    /** Which clients may identify themselves by the URL of their own metadata, instead of being registered. */
    unregisteredClients: varchar('unregistered_clients', { length: 16 })
      .$type<'off' | 'listed' | 'any'>()
      .notNull()
      .default('off'),
    /** The hosts of these URLs that `listed` allows: `host`, or `host:port` for another port than 443. */
    unregisteredClientHosts: jsonb('unregistered_client_hosts').$type<string[]>().notNull().default(sql`'[]'::jsonb`),
  },
  (table) => [
    check('settings_single_row', sql`${table.id} = 1`),
    check('settings_unregistered_clients_check', sql`${table.unregisteredClients} in ('off', 'listed', 'any')`),
  ],
);

/** Emails that were not sent: what the service would have sent, for development. */
export const mailbox = pgTable(
  'mailbox',
  {
    id: key(),
    sentAt: moment('sent_at').notNull(),
    recipient: text('recipient').notNull(),
    subject: text('subject').notNull(),
    html: text('html').notNull(),
    text: text('text').notNull(),
    language: varchar('language', { length: 35 }).notNull(),
    messageId: text('message_id').notNull().unique('mailbox_message_id_unique'),
  },
  (table) => [index('mailbox_sent_at_index').on(table.sentAt)],
);

/**
 * The audit log: one row for each event and affected item. Rows have no foreign keys, so that they outlive what they describe.
 * They are never changed, except that they receive their position in the chain.
 */
export const activity = pgTable(
  'activity',
  {
    /** Begins with the time (UUID version 7), so that ids are in the order of events. */
    id: uuid('id').primaryKey(),
    timestamp: moment('timestamp').notNull(),
    action: varchar('action', { length: 32 }).notNull(),
    outcome: varchar('outcome', { length: 16 }).$type<'success' | 'failure'>().notNull(),
    /** The error code: why the action was rejected. */
    code: varchar('code', { length: 32 }),
    /** Why the credentials of the caller were not accepted, if the code does not say why. */
    reason: varchar('reason', { length: 32 }).$type<FailureReason>(),
    /** The user who did it; null: an anonymous caller, such as one whose login was refused, or the service itself. */
    user: uuid('user'),
    /** The application that acted for the user; null: the user themselves. */
    actor: uuid('actor'),
    /** The item that was affected. For a login that was refused, the account that the caller tried to log in to. */
    collection: varchar('collection', { length: 16 }),
    item: varchar('item', { length: 64 }),
    ip: varchar('ip', { length: 45 }),
    userAgent: varchar('user_agent', { length: 255 }),
    requestId: varchar('request_id', { length: 128 }),
    /** Names of the fields that were written; never their values. */
    changed: jsonb('changed').$type<string[]>(),
    /** HMAC of all columns before this one. */
    seal: varchar('seal', { length: 64 }).notNull(),
    /** The position in the chain; null until the row has been linked. */
    position: bigint('position', { mode: 'number' }),
    /** HMAC of the position, the seal, and the hash of the previous row. */
    hash: varchar('hash', { length: 64 }),
  },
  (table) => [
    uniqueIndex('activity_position_unique').on(table.position),
    index('activity_unlinked_index').on(table.id).where(sql`${table.position} is null`),
    // With the ID, so that the latest events of a user are found without reading all of their events, or those of others.
    index('activity_user_index').on(table.user, table.id),
    index('activity_item_index').on(table.item, table.id),
    index('activity_failed_logins_index')
      .on(table.item, table.id)
      .where(sql`${table.action} = 'login' and ${table.outcome} = 'failure'`),
    index('activity_timestamp_index').on(table.timestamp),
    // The latest events of a rare action are found without reading those of all others.
    index('activity_action_index').on(table.action, table.timestamp),
    // Most refused requests have no user. Those that have one are found without reading the others.
    index('activity_failures_index')
      .on(table.id)
      .where(sql`${table.outcome} = 'failure' and ${table.user} is not null`),
    check('activity_outcome_check', sql`${table.outcome} in ('success', 'failure')`),
  ],
);

/**
 * A single row: where the chain of activity begins and ends. Without it, rows could be removed at either end without a trace. It exists
 * from the time the first administrator is created.
 */
export const activityChain = pgTable(
  'activity_chain',
  {
    id: integer('id').primaryKey().default(1),
    /** The position of the oldest row that is kept. */
    firstPosition: bigint('first_position', { mode: 'number' }).notNull(),
    /** The hash of the row before it, which has been deleted; empty when there never was one. */
    anchorHash: varchar('anchor_hash', { length: 64 }).notNull(),
    /** The position of the newest row; one less than the first position when there are no rows. */
    headPosition: bigint('head_position', { mode: 'number' }).notNull(),
    headHash: varchar('head_hash', { length: 64 }).notNull(),
    /** HMAC of all columns before this one. */
    seal: varchar('seal', { length: 64 }).notNull(),
    /** The position of the last row that is included in `activity_counts`. */
    countedPosition: bigint('counted_position', { mode: 'number' }).notNull().default(0),
  },
  (table) => [check('activity_chain_single_row', sql`${table.id} = 1`)],
);

/**
 * How often something happened in an hour, day, week, or month in UTC. Rows are added up in the background, from `activity` and
 * `active_hours`. They remain when rows of `activity` are removed.
 */
export const activityCounts = pgTable(
  'activity_counts',
  {
    unit: varchar('unit', { length: 8 }).$type<StatisticsInterval>().notNull(),
    series: varchar('series', { length: 32 }).$type<StatisticsSeries>().notNull(),
    /** When the hour, day, week, or month begins. */
    start: timestamp('start', { precision: 0 }).notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.unit, table.series, table.start] })],
);

/** Key pairs that sign tokens. The times determine which one of an algorithm signs; all of them verify. */
export const signingKeys = pgTable(
  'signing_keys',
  {
    /** SHA-256 thumbprint of the public key (RFC 7638). */
    kid: varchar('kid', { length: 43 }).primaryKey(),
    algorithm: varchar('algorithm', { length: 16 }).$type<KeyPairAlgorithm>().notNull(),
    /** Sealed (encrypted); PKCS #8, in PEM. The public key is part of it. */
    privateKey: text('private_key').notNull(),
    createdAt: moment('created_at').notNull(),
    /** The time from which the key may sign; until then it is only published. */
    signsFrom: moment('signs_from').notNull(),
    /** The time until which a token signed with this key may still be presented, as far as is known. */
    neededUntil: moment('needed_until').notNull(),
  },
  (table) => [check('signing_keys_algorithm_check', sql`${table.algorithm} in ('EdDSA', 'ES256', 'RS256')`)],
);

/**
 * A single row: a value derived from SECRET, which reveals at startup that SECRET has changed. It is used for nothing else.
 */
export const secretCheck = pgTable(
  'secret_check',
  {
    id: integer('id').primaryKey().default(1),
    value: varchar('value', { length: 64 }).notNull(),
  },
  (table) => [check('secret_check_single_row', sql`${table.id} = 1`)],
);

/** What each migration declares about builds without it, so that those builds know whether they can start. */
export const migrationCompatibility = pgTable('migration_compatibility', {
  /** Identifies the migration in `drizzle.__drizzle_migrations`. */
  createdAt: bigint('created_at', { mode: 'number' }).primaryKey(),
  tag: text('tag').notNull(),
  /** The migration that a build must contain to work with the tables after this one; null: no build without this migration can. */
  worksWith: text('works_with'),
});
