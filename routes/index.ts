import type { RecordedAs } from '../schemas/activity.js';
import { home } from './account/home.js';
import { accountRoutes } from './account/index.js';
import { activityRoutes } from './activity/index.js';
import type { App } from './app.js';
import { authRoutes } from './auth/index.js';
import { invitesRoutes } from './invites/index.js';
import { mailboxRoutes } from './mailbox/index.js';
import { mailsRoutes } from './mails/index.js';
import { metricsRoutes } from './metrics/index.js';
import { permissionsRoutes } from './permissions/index.js';
import { policiesRoutes } from './policies/index.js';
import { identitiesRoutes, providersRoutes } from './providers/index.js';
import { registrationRoutes } from './registration/index.js';
import { rolesRoutes } from './roles/index.js';
import { serverRoutes } from './server/index.js';
import { sessionsRoutes } from './sessions/index.js';
import { settingsRoutes } from './settings/index.js';
import { tfaRoutes } from './tfa/index.js';
import { usersRoutes } from './users/index.js';
import { wellKnownRoutes } from './well-known/index.js';

/**
 * Who may call what: every operation, by its operationId. `anonymous`: anyone, though a credential that cannot be used
 * is refused all the same. `permission`: whoever has the permissions, be it by the public policy. `authenticated`: only
 * who proves who they are.
 */
export const accessMap = {
  login: 'anonymous',
  logout: 'anonymous',
  refresh: 'anonymous',
  requestPasswordReset: 'anonymous',
  resetPassword: 'anonymous',

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
  unlinkIdentity: 'authenticated',

  readMe: 'authenticated',
  updateMe: 'authenticated',
  trackPage: 'authenticated',
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

/** What still answers a user who must set up two-factor authentication first. */
export const beforeTfa: ReadonlySet<string> = new Set([
  'login',
  'logout',
  'refresh',
  'startOAuthLogin',
  'startProviderLogin',
  'finishOAuthLogin',
  'finishProviderLogin',
  'completeProviderLogin',
  'readMe',
  'generateTfaSecret',
  'enableTfa',
  'disableTfa',
  'createRecoveryCodes',
] satisfies (keyof typeof accessMap)[]);

/**
 * What the audit log calls each operation, when it is done and when it is refused: whatever changes something, and whatever
 * somebody proves who they are with.
 */
export const recordedAs: Readonly<Partial<Record<keyof typeof accessMap, RecordedAs>>> = {
  login: ['login', 'users'],
  logout: ['logout', 'sessions'],
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

  updateMe: ['update', 'users'],
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

/** What changes something and is not in the audit log, and why. */
export const unrecorded: Readonly<Partial<Record<keyof typeof accessMap, string>>> = {
  refresh: 'Goes on with a session whose beginning is recorded; only the reuse of a replaced token says something new.',
  trackPage: 'Which page somebody looks at is neither authentication nor administration.',
};

/** All routes, in an order readable from top to bottom. */
export async function routes(app: App): Promise<void> {
  home(app);
  await app.register(authRoutes, { prefix: '/auth' });
  await app.register(providersRoutes, { prefix: '/auth' });
  await app.register(identitiesRoutes, { prefix: '/users' });
  await app.register(sessionsRoutes, { prefix: '/users' });
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
