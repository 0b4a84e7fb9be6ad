import { createCostlyQueries, withoutSplitting } from '../../db/queries/items/costly-queries.js';
import { definePlugin } from '../platform/plugin.js';
import { createExplanations, type Explanations } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    explanations: Explanations;
  }
}

/** `app.explanations`: explains what somebody may do, and why. */
export const explanationsPlugin = definePlugin('explanations', (services) => {
  const { config, databaseConnection } = services;
  const costly =
    databaseConnection.engine === 'embedded' ? createCostlyQueries(config.QUERY_TIMEOUT) : withoutSplitting;
  return { explanations: createExplanations(services, costly) };
});
