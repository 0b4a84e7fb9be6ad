import { Uuid } from '../../schemas/common.js';
import { resourceSchemas, resourceWriteErrors } from '../../schemas/resources.js';
import type { App } from '../app.js';
import { itemRoutes } from '../items/index.js';

export async function resourcesRoutes(app: App): Promise<void> {
  itemRoutes(app, {
    collection: 'resources',
    one: 'Resource',
    many: 'Resources',
    tag: 'Resources',
    schemas: resourceSchemas,
    errors: resourceWriteErrors,
    key: Uuid('The ID of the resource.'),
  });
}
