import type { ServerInfo } from '../../schemas/server.js';
import { within } from '../platform/within.js';

export type Project = ServerInfo['project'] & {
  self_service: boolean;
  self_deletion: boolean;
  email_login: boolean;
};

/** Milliseconds. */
const settingsTimeoutMs = 1_000;
const tooLate = () => new Error('Reading the settings took too long.');

const defaults: Project = {
  project_name: 'Gatehouse',
  project_color: null,
  project_logo: null,
  default_language: 'en-US',
  public_registration: false,
  public_registration_verify_email: true,
  self_service: true,
  self_deletion: false,
  email_login: false,
};

/**
 * Reads the current settings of the project. While the database is unavailable, returns the settings that were last read, or the
 * defaults, so that visitors see a page that explains the problem instead of an error.
 */
export function createProjectReader(
  read: () => Promise<Project>,
  onFailure: (error: unknown) => void,
): () => Promise<Project> {
  let latest = defaults;
  return async () => {
    try {
      latest = await within(settingsTimeoutMs, read(), tooLate);
    } catch (error) {
      onFailure(error);
    }
    return latest;
  };
}
