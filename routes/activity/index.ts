import { activitySchemas } from '../../schemas/activity.js';
import { Uuid } from '../../schemas/common.js';
import type { App } from '../app.js';
import { readRoutes } from '../items/index.js';

/** The audit log, for administrators: no permission is about it, and nothing writes it by a request of its own. */
export async function activityRoutes(app: App): Promise<void> {
  readRoutes(app, {
    collection: 'activity',
    one: 'Activity',
    many: 'Activities',
    tag: 'Activity',
    schemas: activitySchemas,
    key: Uuid('Identifier of the row.'),
  });
}
