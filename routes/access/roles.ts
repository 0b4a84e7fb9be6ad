import { Uuid } from '../../schemas/common.js';
import { roleSchemas, roleWriteErrors } from '../../schemas/roles.js';
import type { App } from '../app.js';
import { itemRoutes } from '../items/index.js';
import { readMyRoles } from './read-my-roles.js';

export async function rolesRoutes(app: App): Promise<void> {
  readMyRoles(app);
  itemRoutes(app, {
    collection: 'roles',
    one: 'Role',
    many: 'Roles',
    tag: 'Roles',
    schemas: roleSchemas,
    errors: roleWriteErrors,
    key: Uuid('The ID of the role.'),
    administratorsOnly: ['delete'],
  });
}
