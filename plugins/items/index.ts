import { createCostlyQueries, withoutSplitting } from '../../db/queries/items/costly-queries.js';
import type { WritableCollection } from '../../db/query-language/collections.js';
import { createSecretBox } from '../platform/encryption.js';
import { keysFor } from '../platform/key-derivation.js';
import { definePlugin } from '../platform/plugin.js';
import { createCursors } from './cursors.js';
import { createExports, type Exports } from './exports.js';
import { createQueryLimits } from './query-limits.js';
import { permissionWriteRules, policyWriteRules, roleWriteRules } from './rules.js';
import { createItems, type Items } from './service.js';
import { createWrites, type WriteRules } from './write-engine.js';
import { createMutations, type Mutations } from './write-requests.js';

declare module '../platform/plugin.js' {
  interface Services {
    items: Items;
    exports: Exports;
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

/** `app.items`, `app.exports`, and `app.mutations`: read, export, and write any collection. `app.writeRules`: the rules specific to writing each one. */
export const itemsPlugin = definePlugin('items', (services, app) => {
  const { config, databaseConnection } = services;
  const isEmbedded = databaseConnection.engine === 'embedded';
  const costly = isEmbedded ? createCostlyQueries(config.QUERY_TIMEOUT) : withoutSplitting;
  const limitsOf = createQueryLimits({
    rows: config.QUERY_LIMIT_DEFAULT,
    maxRows: config.QUERY_LIMIT_MAX,
    maxBytes: config.MAX_RESPONSE_SIZE,
  });
  const cursors = createCursors(createSecretBox(keysFor(config, 'cursor')));
  const items = createItems(services, { limitsOf, costly, cursors });
  const exports = createExports(services, app, { limitsOf, costly, cursors });
  // The users plugin adds the rules for users.
  const writeRules = {
    roles: roleWriteRules,
    policies: policyWriteRules,
    permissions: permissionWriteRules,
  } as Record<WritableCollection, WriteRules>;
  const writes = createWrites(services, writeRules);
  const maxBatch = isEmbedded ? Math.min(config.MAX_BATCH_MUTATION, maxBatchEmbedded) : config.MAX_BATCH_MUTATION;
  const mutations = createMutations(services, { items, writes, rules: writeRules, limitsOf, costly, maxBatch });
  return { items, exports, mutations, writeRules };
});
