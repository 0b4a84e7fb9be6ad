import plugin from 'fastify-plugin';
import { createUserWriteRules } from '../users/write-rules.js';
import { createMutations, type Mutations } from './mutations.js';
import { permissionWriteRules, policyWriteRules, roleWriteRules } from './rules.js';
import { createItems, type Items } from './service.js';
import { createWrites } from './writes.js';

declare module 'fastify' {
  interface FastifyInstance {
    items: Items;
    mutations: Mutations;
  }
}

/** `app.items` and `app.mutations`: read and write any collection. */
export const itemsPlugin = plugin(
  async (app) => {
    const { db, clock, config, passwords, passwordRules, activity } = app;
    const limits = { default: config.QUERY_LIMIT_DEFAULT, maximum: config.QUERY_LIMIT_MAX ?? null };
    const items = createItems({ db, clock, limits });
    const rules = {
      users: createUserWriteRules({ passwords, passwordRules, clock }),
      roles: roleWriteRules,
      policies: policyWriteRules,
      permissions: permissionWriteRules,
    };
    const writes = createWrites({ db, clock, rules, activity });
    app.decorate('items', items);
    app.decorate('mutations', createMutations({ db, clock, items, writes, maxBatch: config.MAX_BATCH_MUTATION }));
  },
  { name: 'items', dependencies: ['config', 'database', 'clock', 'passwords', 'password-rules', 'activity'] },
);
