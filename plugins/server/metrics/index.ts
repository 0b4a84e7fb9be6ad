import plugin from 'fastify-plugin';
import { countWaitingMails } from '../../../db/queries/mail/mails.js';
import { createMetrics, type Metrics } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Null unless METRICS_TOKEN is set. Without it, nothing is measured. */
    metrics: Metrics | null;
  }
}

/** `app.metrics`: metrics for Prometheus. Measures every response. */
export const metricsPlugin = plugin(
  async (app) => {
    const { config, db, passwords, databaseConnection, log } = app;
    if (config.METRICS_TOKEN === undefined) {
      app.decorate('metrics', null);
      return;
    }
    const metrics = createMetrics({
      passwords: () => passwords.load(),
      connections: () => databaseConnection.load(),
      mails: () =>
        countWaitingMails(db).catch((error: unknown) => {
          // The other metrics are even more important while the database is unavailable.
          log.warn({ err: error }, 'the queued emails could not be counted');
          return {};
        }),
    });
    app.decorate('metrics', metrics);
    app.addHook('onResponse', async (request, reply) => {
      const { method, routeOptions, is404 } = request;
      // The pattern, never the path: paths contain IDs, and would create an unlimited number of labels.
      const route = is404 ? 'none' : (routeOptions.url ?? 'none');
      metrics.answered({ method, route, status: reply.statusCode }, reply.elapsedTime / 1_000);
    });
    app.addHook('onClose', () => metrics.stop());
  },
  { name: 'metrics', dependencies: ['config', 'database', 'passwords'] },
);
