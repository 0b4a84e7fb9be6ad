import plugin from 'fastify-plugin';
import { sumUpUserCounts } from '../../db/queries/user-counts.js';
import { hour } from '../periodic.js';
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
    app.every(hour, () => sumUpUserCounts(app.db), 'the number of users could not be summed up');
  },
  { name: 'users', dependencies: ['database', 'periodic', 'items'] },
);
