import { Uuid } from '../../schemas/common.js';
import { userSchemas, userWriteErrors } from '../../schemas/users.js';
import type { App } from '../app.js';
import { itemRoutes } from '../items/index.js';
import { readMe } from './read-me.js';
import { trackPage } from './track-page.js';
import { updateMe } from './update-me.js';

export async function usersRoutes(app: App): Promise<void> {
  readMe(app);
  updateMe(app);
  trackPage(app);
  itemRoutes(app, {
    collection: 'users',
    one: 'User',
    many: 'Users',
    tag: 'Users',
    schemas: userSchemas,
    errors: userWriteErrors,
    key: Uuid('Identifier of the user.'),
  });
}
