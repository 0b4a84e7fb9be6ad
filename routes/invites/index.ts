import type { App } from '../app.js';
import { acceptInvite } from './accept-invite.js';
import { invite } from './invite.js';

export async function invitesRoutes(app: App): Promise<void> {
  invite(app);
  acceptInvite(app);
}
