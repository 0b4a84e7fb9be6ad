import plugin from 'fastify-plugin';
import { createCostlyQueries, unsplit } from '../../db/queries/items/costly-queries.js';
import type { WritableCollection } from '../../db/query-language/collections.js';
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
 * Items that one request may write on the embedded engine. It works on this thread, one statement at a time, so others wait for as
 * long as a statement takes: for no more than a quarter of a second, on a slow machine too.
 */
const maxBatchEmbedded = 300;

/** `app.items` and `app.mutations`: read and write any collection. `app.writeRules`: what is particular about writing each. */
export const itemsPlugin = plugin(
  async (app) => {
    const { dbOf, clock, config, activity, stepUp } = app;
    const isEmbedded = app.databaseConnection.engine === 'embedded';
    const costly = isEmbedded ? createCostlyQueries(config.QUERY_TIMEOUT) : unsplit;
    const limitsOf = createQueryLimits({
      rows: config.QUERY_LIMIT_DEFAULT,
      mostRows: config.QUERY_LIMIT_MAX,
      mostBytes: config.MAX_RESPONSE_SIZE,
    });
    const items = createItems({
      dbOf,
      clock,
      limitsOf,
      costly,
      cursors: createCursors(createSecretBox(keysFor(config, 'cursor'))),
    });
    // Those for users come with the users plugin.
    const rules = {
      roles: roleWriteRules,
      policies: policyWriteRules,
      permissions: permissionWriteRules,
    } as Record<WritableCollection, WriteRules>;
    app.decorate('writeRules', rules);

    const writes = createWrites({ dbOf, clock, rules, activity, stepUp });
    app.decorate('items', items);
    app.decorate(
      'mutations',
      createMutations({
        dbOf,
        costly,
        clock,
        items,
        writes,
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
