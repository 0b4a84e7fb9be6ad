import { setTimeout as sleep } from 'node:timers/promises';
import { definePlugin } from '../../platform/plugin.js';
import { createHealthChecks, type HealthChecks } from './service.js';

declare module '../../platform/plugin.js' {
  interface Services {
    health: HealthChecks;
    serviceVersion: string;
    /** Prepares for the shutdown: load balancers see that no further requests should be sent. */
    drain(): Promise<void>;
  }
}

/** Milliseconds between the checks whose results are reported to clients with METRICS_TOKEN. */
const checkInterval = 2_000;

/**
 * `app.health`: health checks, and the public settings of the project. `app.drain`: for SHUTDOWN_DELAY, the service works as usual, but
 * its health is `error`.
 */
export const healthPlugin = definePlugin<{ version: string }>('monitoring/health', (services, app, { version }) => {
  const { config, every, log } = services;
  const health = createHealthChecks(services, (component, status) => {
    if (status === 'error') log.error({ component }, 'a health check failed');
    else log.info({ component }, 'a health check succeeds again');
  });
  if (config.METRICS_TOKEN !== undefined) {
    // Not in `onListen`, whose hooks run one after another and would delay the first check. Before it, there is no result to report.
    app.addHook('onReady', async () => void health.check());
    every(checkInterval, health.check, 'the health checks could not be run');
  }
  const drain = async () => {
    const { SHUTDOWN_DELAY: ms } = config;
    if (ms === 0) return;
    log.info({ ms }, 'the service stops after SHUTDOWN_DELAY');
    health.startDraining();
    await sleep(ms);
  };
  return { health, drain, serviceVersion: version };
});
