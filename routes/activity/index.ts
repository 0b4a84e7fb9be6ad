import { activitySchemas } from '../../schemas/activity.js';
import { Uuid } from '../../schemas/common.js';
import type { App } from '../app.js';
import { readRoutes } from '../items/index.js';
import { verifyActivity } from './verify-activity.js';

/** The audit log is read-only: no request can write to it directly. */
export async function activityRoutes(app: App): Promise<void> {
  verifyActivity(app);
  readRoutes(app, {
    collection: 'activity',
    one: 'Activity',
    many: 'Activities',
    nouns: { one: 'activity entry', many: 'activity entries' },
    tag: 'Activity',
    schemas: activitySchemas,
    key: Uuid('The ID of the entry.'),
  });
}
