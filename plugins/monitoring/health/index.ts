import plugin from 'fastify-plugin';
import { createHealthChecks, type HealthChecks } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    health: HealthChecks;
    serviceVersion: string;
  }
}

/** Milliseconds between the checks whose results are reported to clients with METRICS_TOKEN. */
const checkInterval = 2_000;

/** `app.health`: health checks, and the public settings of the project. */
export const healthPlugin = plugin<{ version: string }>(
  async (app, { version }) => {
    const { db, redis, outages, log, config } = app;
    const health = createHealthChecks({
      db,
      redis,
      outages,
      onChange: (component, status) => {
        if (status === 'error') log.error({ component }, 'a health check failed');
        else log.info({ component }, 'a health check succeeds again');
      },
    });
    app.decorate('serviceVersion', version);
    app.decorate('health', health);
    if (config.METRICS_TOKEN === undefined) return;
    // Not in `onListen`, whose hooks run one after another and would delay the first check. Before it, there is no result to report.
    app.addHook('onReady', async () => void health.check());
    app.every(checkInterval, health.check, 'the health checks could not be run');
  },
  { name: 'health', dependencies: ['config', 'database', 'redis', 'outages', 'scheduler'] },
);
