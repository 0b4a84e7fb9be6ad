import type { App } from '../app.js';
import { cancelEmailChange } from './cancel-email-change.js';
import { cancelEmailChangeByLink } from './cancel-email-change-by-link.js';
import { confirmEmailChange } from './confirm-email-change.js';
import { deleteMe } from './delete-me.js';
import { exportAccount } from './export-account.js';
import { readProfile } from './read-profile.js';
import { requestEmailChange } from './request-email-change.js';
import { updateProfile } from './update-profile.js';

/** Operations on the caller's own account. They require no permissions. */
export async function ownAccountRoutes(app: App): Promise<void> {
  readProfile(app);
  updateProfile(app);
  requestEmailChange(app);
  confirmEmailChange(app);
  cancelEmailChange(app);
  cancelEmailChangeByLink(app);
  exportAccount(app);
  deleteMe(app);
}
