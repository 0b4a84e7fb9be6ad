import plugin from 'fastify-plugin';
import { countWaitingMails } from '../../../db/queries/mail/mails.js';
import { createMetrics, type Metrics } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Null unless METRICS_TOKEN is set: nothing is measured then. */
    metrics: Metrics | null;
  }
}

/** `app.metrics`: what Prometheus asks for; every answer is measured. */
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
          // The other numbers are wanted the more when the database is away.
          log.warn({ err: error }, 'the mails that wait could not be counted');
          return {};
        }),
    });
    app.decorate('metrics', metrics);
    app.addHook('onResponse', async (request, reply) => {
      const { method, routeOptions, is404 } = request;
      // The pattern, never the path: paths have ids in them, and there is no end to their number.
      const route = is404 ? 'none' : (routeOptions.url ?? 'none');
      metrics.answered({ method, route, status: reply.statusCode }, reply.elapsedTime / 1_000);
    });
    app.addHook('onClose', () => metrics.stop());
  },
  { name: 'metrics', dependencies: ['config', 'database', 'passwords'] },
);
