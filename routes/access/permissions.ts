import { Type } from '@sinclair/typebox';
import { permissionSchemas, permissionWriteErrors } from '../../schemas/permissions.js';
import type { App } from '../app.js';
import { itemRoutes } from '../items/index.js';
import { explainPermissions } from './explain-permissions.js';
import { readMyPermissions } from './read-my-permissions.js';

export async function permissionsRoutes(app: App): Promise<void> {
  readMyPermissions(app);
  explainPermissions(app);
  itemRoutes(app, {
    collection: 'permissions',
    one: 'Permission',
    many: 'Permissions',
    tag: 'Permissions',
    schemas: permissionSchemas,
    errors: permissionWriteErrors,
    administratorsOnly: ['create', 'update', 'delete'],
    key: Type.Integer({ description: 'The ID of the permission.' }),
  });
}
