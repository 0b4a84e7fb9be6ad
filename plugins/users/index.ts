import plugin from 'fastify-plugin';
import { createUsers, type Users } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    users: Users;
  }
}

/** `app.users`: users. */
export const usersPlugin = plugin(
  async (app) => {
    app.decorate('users', createUsers({ db: app.db, items: app.items }));
  },
  { name: 'users', dependencies: ['database', 'items'] },
);
