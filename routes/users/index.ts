import { Uuid } from '../../schemas/common.js';
import {
  ownSignInChanges,
  UsersUpdateResponse,
  UserUpdateResponse,
  userSchemas,
  userWriteErrors,
} from '../../schemas/users.js';
import type { App } from '../app.js';
import { itemRoutes } from '../items/index.js';
import { changeMyPassword } from './change-my-password.js';
import { readMe } from './read-me.js';
import { trackPage } from './track-page.js';
import { unlockUser } from './unlock-user.js';
import { updateMe } from './update-me.js';

export async function usersRoutes(app: App): Promise<void> {
  readMe(app);
  updateMe(app);
  changeMyPassword(app);
  trackPage(app);
  unlockUser(app);
  itemRoutes(app, {
    collection: 'users',
    one: 'User',
    many: 'Users',
    tag: 'Users',
    schemas: userSchemas,
    errors: userWriteErrors,
    key: Uuid('The ID of the user.'),
    updated: {
      one: { response: UserUpdateResponse, description: ownSignInChanges.one },
      many: { response: UsersUpdateResponse, description: ownSignInChanges.many },
    },
  });
}
