import plugin from 'fastify-plugin';
import { createCostlyQueries, withoutSplitting } from '../../db/queries/items/costly-queries.js';
import type { WritableCollection } from '../../db/query-language/collections.js';
import { assignableRoles, openRoles } from '../../schemas/provider-config.js';
import { createSecretBox } from '../platform/encryption.js';
import { keysFor } from '../platform/key-derivation.js';
import { createCursors } from './cursors.js';
import { createQueryLimits } from './query-limits.js';
import { permissionWriteRules, policyWriteRules, roleWriteRules } from './rules.js';
import { createItems, type Items } from './service.js';
import { createWrites, type WriteRules } from './write-engine.js';
import { createMutations, type Mutations } from './write-requests.js';

declare module 'fastify' {
  interface FastifyInstance {
    items: Items;
    mutations: Mutations;
    writeRules: Record<WritableCollection, WriteRules>;
  }
}

/**
 * Maximum number of items that one request can write on the embedded engine. The engine runs on this thread, one statement at a
 * time, so other requests wait until a statement ends. With this limit they wait at most a quarter of a second, even on a slow
 * machine.
 */
const maxBatchEmbedded = 300;

/** `app.items` and `app.mutations`: read and write any collection. `app.writeRules`: the rules specific to writing each one. */
export const itemsPlugin = plugin(
  async (app) => {
    const { dbOf, clock, config, activity, stepUp } = app;
    const isEmbedded = app.databaseConnection.engine === 'embedded';
    const costly = isEmbedded ? createCostlyQueries(config.QUERY_TIMEOUT) : withoutSplitting;
    const limitsOf = createQueryLimits({
      rows: config.QUERY_LIMIT_DEFAULT,
      maxRows: config.QUERY_LIMIT_MAX,
      maxBytes: config.MAX_RESPONSE_SIZE,
    });
    const items = createItems({
      dbOf,
      clock,
      limitsOf,
      costly,
      cursors: createCursors(createSecretBox(keysFor(config, 'cursor'))),
    });
    // The users plugin adds the rules for users.
    const rules = {
      roles: roleWriteRules,
      policies: policyWriteRules,
      permissions: permissionWriteRules,
    } as Record<WritableCollection, WriteRules>;
    app.decorate('writeRules', rules);

    const writes = createWrites({
      ...{ dbOf, clock, rules, activity, stepUp },
      acceptsPasskeys: config.AUTH_PASSKEYS,
      assignableRoles: config.PROVIDERS.flatMap(assignableRoles),
      openRoles: config.PROVIDERS.flatMap(openRoles),
    });
    app.decorate('items', items);
    app.decorate(
      'mutations',
      createMutations({
        dbOf,
        costly,
        clock,
        items,
        writes,
        rules,
        limitsOf,
        maxBatch: isEmbedded ? Math.min(config.MAX_BATCH_MUTATION, maxBatchEmbedded) : config.MAX_BATCH_MUTATION,
      }),
    );
  },
  {
    name: 'items',
    dependencies: ['config', 'database', 'clock', 'activity', 'step-up'],
  },
);
