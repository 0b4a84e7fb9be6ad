import type { SettingName, SettingsInput } from '../../../schemas/settings.js';
import type { Executor } from '../../client.js';
import { settings } from '../../schema.js';

/** The column of every setting, by the setting's public name. */
const columns = {
  project_name: settings.projectName,
  project_color: settings.projectColor,
  project_logo: settings.projectLogo,
  default_language: settings.defaultLanguage,
  public_registration: settings.publicRegistration,
  public_registration_verify_email: settings.publicRegistrationVerifyEmail,
  public_registration_role: settings.publicRegistrationRole,
  public_registration_email_filter: settings.publicRegistrationEmailFilter,
  public_policy: settings.publicPolicy,
  auth_password_policy: settings.authPasswordPolicy,
  auth_login_attempts: settings.authLoginAttempts,
  self_service: settings.selfService,
  self_deletion: settings.selfDeletion,
  email_login: settings.emailLogin,
  unregistered_clients: settings.unregisteredClients,
  unregistered_client_hosts: settings.unregisteredClientHosts,
} satisfies Record<SettingName, unknown>;

export async function readSettings(executor: Executor) {
  const [row] = await executor.select(columns).from(settings).limit(1);
  if (!row) throw new Error('The row of settings is missing.');
  return row;
}

/** The settings that anyone may read. */
export async function readPublicSettings(executor: Executor) {
  const row = await readSettings(executor);
  return {
    project_name: row.project_name,
    project_color: row.project_color,
    project_logo: row.project_logo,
    default_language: row.default_language,
    public_registration: row.public_registration,
    public_registration_verify_email: row.public_registration_verify_email,
  };
}

/** Stores the given settings and leaves the others unchanged. */
export async function writeSettings(executor: Executor, changes: SettingsInput): Promise<void> {
  const values = {
    projectName: changes.project_name,
    projectColor: changes.project_color,
    projectLogo: changes.project_logo,
    defaultLanguage: changes.default_language,
    publicRegistration: changes.public_registration,
    publicRegistrationVerifyEmail: changes.public_registration_verify_email,
    publicRegistrationRole: changes.public_registration_role,
    publicRegistrationEmailFilter: changes.public_registration_email_filter,
    publicPolicy: changes.public_policy,
    authPasswordPolicy: changes.auth_password_policy,
    authLoginAttempts: changes.auth_login_attempts,
    selfService: changes.self_service,
    selfDeletion: changes.self_deletion,
    emailLogin: changes.email_login,
    unregisteredClients: changes.unregistered_clients,
    unregisteredClientHosts: changes.unregistered_client_hosts,
  };
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  if (Object.keys(given).length > 0) await executor.update(settings).set(given);
}

/** The settings that new passwords are checked against: the regular expression, if there is one, and the name of the project. */
export async function readPasswordSettings(
  executor: Executor,
): Promise<{ policy: string | null; projectName: string | null }> {
  const columns = { policy: settings.authPasswordPolicy, projectName: settings.projectName };
  const [row] = await executor.select(columns).from(settings).limit(1);
  return row ?? { policy: null, projectName: null };
}
