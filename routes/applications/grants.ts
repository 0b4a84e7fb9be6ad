import type { App } from '../app.js';
import { listGrantsOfUser } from './list-grants-of-user.js';
import { listMyGrants } from './list-my-grants.js';
import { withdrawGrantOfUser } from './withdraw-grant-of-user.js';
import { withdrawMyGrant } from './withdraw-my-grant.js';

/** Under `/users`. */
export async function grantsRoutes(app: App): Promise<void> {
  listMyGrants(app);
  withdrawMyGrant(app);
  listGrantsOfUser(app);
  withdrawGrantOfUser(app);
}
