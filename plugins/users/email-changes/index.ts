import { deleteExpiredEmailChanges } from '../../../db/queries/users/email-changes.js';
import { definePlugin } from '../../platform/plugin.js';
import { hour } from '../../platform/scheduler.js';
import { createEmailChanges, type EmailChanges } from './service.js';

declare module '../../platform/plugin.js' {
  interface Services {
    emailChanges: EmailChanges;
  }
}

/** `app.emailChanges`: changes to the caller's own address, which must be confirmed through an email to the new address. */
export const emailChangesPlugin = definePlugin('users/email-changes', (services) => {
  const { maintenanceDb, clock, every } = services;
  every(hour, () => deleteExpiredEmailChanges(maintenanceDb, clock()), 'expired email changes could not be deleted');
  return { emailChanges: createEmailChanges(services) };
});
