import type { RecordedAs } from '../schemas/activity.js';
import type { Need, NeededRight } from '../schemas/needs.js';
import { permissionsRoutes } from './access/permissions.js';
import { policiesRoutes } from './access/policies.js';
import { rolesRoutes } from './access/roles.js';
import { activityRoutes } from './activity/index.js';
import type { App } from './app.js';
import { authRoutes } from './auth/index.js';
import { sessionsRoutes } from './auth/sessions.js';
import { wellKnownRoutes } from './auth/well-known.js';
import { invitesRoutes } from './invites/index.js';
import { mailboxRoutes } from './mail/mailbox.js';
import { mailsRoutes } from './mail/mails.js';
import { home } from './pages/home.js';
import { accountRoutes } from './pages/index.js';
import { identitiesRoutes, providersRoutes } from './providers/index.js';
import { registrationRoutes } from './registration/index.js';
import { serverRoutes } from './server/index.js';
import { metricsRoutes } from './server/metrics.js';
import { settingsRoutes } from './settings/index.js';
import { tfaRoutes } from './tfa/index.js';
import { usersRoutes } from './users/index.js';
import { ownAccountRoutes } from './users/own-account.js';

/**
 * Who may call each operation, by operationId. `anonymous`: anyone. An invalid credential is still rejected, except an
 * invalid session cookie, which is ignored. `permission`: callers with the required permissions, which the public policy
 * can also grant. `authenticated`: only callers with a valid credential.
 */
export const accessMap = {
  login: 'anonymous',
  logout: 'anonymous',
  refresh: 'anonymous',
  reauthenticate: 'authenticated',
  requestPasswordReset: 'anonymous',
  resetPassword: 'anonymous',
  checkPassword: 'anonymous',

  listMySessions: 'authenticated',
  endMySession: 'authenticated',
  endMyOtherSessions: 'authenticated',
  listSessionsOfUser: 'authenticated',
  endSessionOfUser: 'authenticated',
  endSessionsOfUser: 'authenticated',

  listProviderKeys: 'anonymous',
  listProviders: 'anonymous',
  startOAuthLogin: 'anonymous',
  startProviderLogin: 'anonymous',
  finishOAuthLogin: 'anonymous',
  finishProviderLogin: 'anonymous',
  completeProviderLogin: 'anonymous',
  listIdentities: 'authenticated',
  linkIdentity: 'authenticated',
  unlinkIdentity: 'authenticated',

  readProfile: 'authenticated',
  updateProfile: 'authenticated',
  requestEmailChange: 'authenticated',
  confirmEmailChange: 'anonymous',
  cancelEmailChange: 'authenticated',
  cancelEmailChangeByLink: 'anonymous',
  exportAccount: 'authenticated',
  deleteMe: 'authenticated',

  readMe: 'authenticated',
  updateMe: 'authenticated',
  changeMyPassword: 'authenticated',
  trackPage: 'authenticated',
  unlockUser: 'authenticated',
  listUsers: 'permission',
  searchUsers: 'permission',
  createUsers: 'permission',
  updateUsers: 'permission',
  deleteUsers: 'permission',
  readUser: 'permission',
  updateUser: 'permission',
  deleteUser: 'permission',

  invite: 'permission',
  acceptInvite: 'anonymous',

  generateTfaSecret: 'authenticated',
  enableTfa: 'authenticated',
  disableTfa: 'authenticated',
  createRecoveryCodes: 'authenticated',
  disableTfaOfUser: 'authenticated',

  register: 'anonymous',
  verifyEmail: 'anonymous',
  confirmEmail: 'anonymous',
  resendVerification: 'anonymous',

  listMails: 'authenticated',
  retryMail: 'authenticated',

  readMyRoles: 'authenticated',
  listRoles: 'permission',
  searchRoles: 'permission',
  createRoles: 'permission',
  updateRoles: 'permission',
  deleteRoles: 'permission',
  readRole: 'permission',
  updateRole: 'permission',
  deleteRole: 'permission',

  readMyGlobals: 'permission',
  listPolicies: 'permission',
  searchPolicies: 'permission',
  createPolicies: 'permission',
  updatePolicies: 'permission',
  deletePolicies: 'permission',
  readPolicy: 'permission',
  updatePolicy: 'permission',
  deletePolicy: 'permission',

  readMyPermissions: 'permission',
  listPermissions: 'permission',
  searchPermissions: 'permission',
  createPermissions: 'permission',
  updatePermissions: 'permission',
  deletePermissions: 'permission',
  readPermission: 'permission',
  updatePermission: 'permission',
  deletePermission: 'permission',

  readSettings: 'permission',
  updateSettings: 'permission',

  listActivities: 'permission',
  searchActivities: 'permission',
  readActivity: 'permission',

  serverHealth: 'anonymous',
  serverInfo: 'anonymous',
  serverPing: 'anonymous',

  readKeySet: 'anonymous',
} as const;

/** The rights that the operations on the items of a collection require. */
function itemNeeds<One extends string, Many extends string>(
  collection: NeededRight['collection'],
  one: One,
  many: Many,
  administratorsOnly: readonly NeededRight['action'][] = [],
) {
  const need = (action: NeededRight['action']): Need =>
    administratorsOnly.includes(action) ? 'administrator' : { collection, action };
  return {
    [`list${many}`]: need('read'),
    [`search${many}`]: need('read'),
    [`read${one}`]: need('read'),
    [`create${many}`]: need('create'),
    [`update${many}`]: need('update'),
    [`update${one}`]: need('update'),
    [`delete${many}`]: need('delete'),
    [`delete${one}`]: need('delete'),
  };
}

/**
 * The rights that are checked before an operation evaluates the body and the query. An operation with access
 * `authenticated` that is not listed is available to every user.
 */
export const needs: Readonly<Partial<Record<keyof typeof accessMap, Need>>> = {
  ...itemNeeds('users', 'User', 'Users'),
  ...itemNeeds('roles', 'Role', 'Roles', ['delete']),
  ...itemNeeds('policies', 'Policy', 'Policies', ['delete']),
  ...itemNeeds('permissions', 'Permission', 'Permissions', ['create', 'update', 'delete']),
  listActivities: 'administrator',
  searchActivities: 'administrator',
  readActivity: 'administrator',
  readSettings: { collection: 'settings', action: 'read' },
  updateSettings: { collection: 'settings', action: 'update' },
  readMyGlobals: 'nothing',
  readMyPermissions: 'nothing',

  updateMe: { collection: 'users', action: 'update' },
  invite: { collection: 'users', action: 'create', fields: ['email', 'role', 'status'], unconditional: true },
  disableTfaOfUser: { collection: 'users', action: 'update', fields: ['tfa_secret'] },
  unlockUser: { collection: 'users', action: 'update', fields: ['status'] },
  listSessionsOfUser: 'administrator',
  endSessionOfUser: 'administrator',
  endSessionsOfUser: 'administrator',
  listMails: 'administrator',
  retryMail: 'administrator',
};

/** Operations of the Directus API and its SDK. All other operations reject body keys that their schemas do not declare. */
export const directusOperations: ReadonlySet<string> = new Set([
  'login',
  'logout',
  'refresh',
  'requestPasswordReset',
  'resetPassword',
  'completeProviderLogin',
  'updateMe',
  'trackPage',
  'createUsers',
  'updateUsers',
  'updateUser',
  'deleteUsers',
  'deleteUser',
  'invite',
  'acceptInvite',
  'register',
  'generateTfaSecret',
  'enableTfa',
  'disableTfa',
  'disableTfaOfUser',
  'createRoles',
  'updateRoles',
  'updateRole',
  'deleteRoles',
  'deleteRole',
  'createPolicies',
  'updatePolicies',
  'updatePolicy',
  'deletePolicies',
  'deletePolicy',
  'createPermissions',
  'updatePermissions',
  'updatePermission',
  'deletePermissions',
  'deletePermission',
  'updateSettings',
] satisfies (keyof typeof accessMap)[]);

/** Operations that remain available to a user who must set up two-factor authentication first. */
export const beforeTfa: ReadonlySet<string> = new Set([
  'login',
  'logout',
  'refresh',
  'reauthenticate',
  'startOAuthLogin',
  'startProviderLogin',
  'finishOAuthLogin',
  'finishProviderLogin',
  'completeProviderLogin',
  'readMe',
  'readProfile',
  'generateTfaSecret',
  'enableTfa',
  'disableTfa',
  'createRecoveryCodes',
] satisfies (keyof typeof accessMap)[]);

/**
 * The action and the collection under which the audit log records each operation, whether it succeeds or is refused.
 * Includes every operation that changes data or in which a user proves their identity.
 */
export const recordedAs: Readonly<Partial<Record<keyof typeof accessMap, RecordedAs>>> = {
  login: ['login', 'users'],
  logout: ['logout', 'sessions'],
  reauthenticate: ['reauthenticate', 'users'],
  requestPasswordReset: ['password_reset_request', 'users'],
  resetPassword: ['password_reset', 'users'],

  endMySession: ['session_end', 'sessions'],
  endMyOtherSessions: ['session_end', 'users'],
  endSessionOfUser: ['session_end', 'users'],
  endSessionsOfUser: ['session_end', 'users'],

  finishOAuthLogin: ['login', 'users'],
  finishProviderLogin: ['login', 'users'],
  completeProviderLogin: ['login', 'users'],
  unlinkIdentity: ['identity_unlink', 'identities'],

  updateProfile: ['update', 'users'],
  requestEmailChange: ['email_change_request', 'users'],
  confirmEmailChange: ['email_change', 'users'],
  cancelEmailChange: ['email_change_cancel', 'users'],
  cancelEmailChangeByLink: ['email_change_cancel', 'users'],
  exportAccount: ['export', 'users'],
  deleteMe: ['delete', 'users'],

  updateMe: ['update', 'users'],
  changeMyPassword: ['password_change', 'users'],
  unlockUser: ['unlock', 'users'],
  createUsers: ['create', 'users'],
  updateUsers: ['update', 'users'],
  deleteUsers: ['delete', 'users'],
  updateUser: ['update', 'users'],
  deleteUser: ['delete', 'users'],

  invite: ['invite', 'users'],
  acceptInvite: ['invite_accept', 'users'],

  generateTfaSecret: ['tfa_generate', 'users'],
  enableTfa: ['tfa_enable', 'users'],
  disableTfa: ['tfa_disable', 'users'],
  createRecoveryCodes: ['recovery_codes', 'users'],
  disableTfaOfUser: ['tfa_disable', 'users'],

  register: ['register', 'users'],
  verifyEmail: ['email_verified', 'users'],
  confirmEmail: ['email_verified', 'users'],
  resendVerification: ['verification_resend', 'users'],

  retryMail: ['mail_retry', 'mails'],

  createRoles: ['create', 'roles'],
  updateRoles: ['update', 'roles'],
  deleteRoles: ['delete', 'roles'],
  updateRole: ['update', 'roles'],
  deleteRole: ['delete', 'roles'],

  createPolicies: ['create', 'policies'],
  updatePolicies: ['update', 'policies'],
  deletePolicies: ['delete', 'policies'],
  updatePolicy: ['update', 'policies'],
  deletePolicy: ['delete', 'policies'],

  createPermissions: ['create', 'permissions'],
  updatePermissions: ['update', 'permissions'],
  deletePermissions: ['delete', 'permissions'],
  updatePermission: ['update', 'permissions'],
  deletePermission: ['delete', 'permissions'],

  updateSettings: ['update', 'settings'],
};

/** Operations with a writing method that are not in the audit log, and why not. */
export const unrecorded: Readonly<Partial<Record<keyof typeof accessMap, string>>> = {
  linkIdentity: 'Changes nothing until the user returns from the provider; then the linked account is recorded.',
  refresh: 'Continues a session whose start is recorded. Only the reuse of a replaced token adds information.',
  checkPassword: 'Changes nothing.',
  trackPage: 'The page that a user visits is neither authentication nor administration.',
};

/** Registers all routes. */
export async function routes(app: App): Promise<void> {
  home(app);
  await app.register(authRoutes, { prefix: '/auth' });
  await app.register(providersRoutes, { prefix: '/auth' });
  await app.register(identitiesRoutes, { prefix: '/users' });
  await app.register(sessionsRoutes, { prefix: '/users' });
  await app.register(ownAccountRoutes, { prefix: '/users' });
  await app.register(usersRoutes, { prefix: '/users' });
  await app.register(tfaRoutes, { prefix: '/users' });
  await app.register(invitesRoutes, { prefix: '/users' });
  await app.register(registrationRoutes, { prefix: '/users' });
  await app.register(rolesRoutes, { prefix: '/roles' });
  await app.register(policiesRoutes, { prefix: '/policies' });
  await app.register(permissionsRoutes, { prefix: '/permissions' });
  await app.register(settingsRoutes, { prefix: '/settings' });
  await app.register(mailsRoutes, { prefix: '/mails' });
  await app.register(activityRoutes, { prefix: '/activity' });
  await app.register(serverRoutes, { prefix: '/server' });
  await app.register(wellKnownRoutes, { prefix: '/.well-known' });
  await app.register(accountRoutes, { prefix: '/account' });
  if (app.metrics) await app.register(metricsRoutes, { prefix: '/metrics' });
  if (app.mail.hasMailbox) await app.register(mailboxRoutes, { prefix: '/mailbox' });
}
