import { setTimeout as sleep } from 'node:timers/promises';
import { countQueuedMails } from '../../db/queries/mail/mails.js';
import { definePlugin } from '../platform/plugin.js';
import type { Metrics, QueuedMails } from './service.js';

declare module '../platform/plugin.js' {
  interface Services {
    /** Null unless METRICS_TOKEN is set. Without it, nothing is measured. */
    metrics: Metrics | null;
  }
}

/** Milliseconds that a response waits for the database. After that, it contains the numbers that were read last. */
const maxWait = 250;

/** `app.metrics`: metrics for Prometheus. Measures every response. */
export const metricsPlugin = definePlugin('metrics', async (services, app) => {
  const { config, db, clock, passwords, databaseConnection, outages, health, signingKeys } = services;
  const { activity, recordedOutcomes, serviceVersion: version, onRefusedConnection } = services;
  if (config.METRICS_TOKEN === undefined) return { metrics: null };

  let mails: QueuedMails | undefined;
  let counting: Promise<void> | undefined;
  let isFailing = false;
  const count = async () => {
    try {
      mails = await countQueuedMails(db, databaseConnection.schemas);
      isFailing = false;
    } catch (error) {
      if (!isFailing) app.log.warn({ err: error }, 'the queued emails could not be counted');
      isFailing = true;
    } finally {
      counting = undefined;
    }
  };
  const countInTime = () => {
    // If the database does not respond, the requests for the metrics share one statement.
    counting ??= count();
    return Promise.race([counting, sleep(maxWait)]);
  };

  const { createMetrics } = await import('./service.js');
  const metrics = createMetrics({
    version,
    now: clock,
    passwords: () => passwords.load(),
    connections: () => databaseConnection.load(),
    isUp: health.isUp,
    writesFailingSince: outages.writesFailingSince,
    mails: () => mails,
    signingKeys: signingKeys.signers,
    outcomes: () => recordedOutcomes,
  });
  activity.addListener({
    mayFollowLogin: true,
    onRecord: async (_tx, _origin, events) => {
      for (const { action } of events) metrics.recordEvent(action, 'success');
    },
    onRefusal: async (_origin, { action }, code) => metrics.recordEvent(action, code ?? 'failure'),
  });
  outages.onOutage(metrics.recordOutage);
  onRefusedConnection(metrics.recordRefusedConnection);
  app.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions, is404 } = request;
    // The pattern, never the path: paths contain IDs, and would create an unlimited number of labels.
    const route = is404 ? 'none' : (routeOptions.url ?? 'none');
    metrics.recordResponse({ method, route, status: reply.statusCode }, reply.elapsedTime / 1_000);
  });
  app.addHook('onClose', () => metrics.stop());
  const text = async () => {
    await countInTime();
    return metrics.text();
  };
  return { metrics: { ...metrics, text } };
});
