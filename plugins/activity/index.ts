import { keysFor } from '../platform/key-derivation.js';
import { definePlugin } from '../platform/plugin.js';
import { hour } from '../platform/scheduler.js';
import { createAuditLog } from './audit-log.js';
import { type Chain, createChain } from './chain.js';
import { type Activity, createActivity } from './service.js';
import { createSignatures } from './signatures.js';
import { type ActivityStatistics, createStatistics } from './statistics.js';
import { createVerifyActivity, type VerifyActivity } from './verify.js';

declare module '../platform/plugin.js' {
  interface Services {
    activity: Activity;
    activityChain: Chain;
    statistics: ActivityStatistics;
    verifyActivity: VerifyActivity;
  }
}

/** Milliseconds. For this long, a new row could be removed without leaving a gap in the chain. */
const linkInterval = 1_000;

/** Milliseconds. Until then, every request for the statistics counts what has happened. */
const countInterval = 5_000;

/**
 * `app.activity`: announces what happened. The audit log stores it, and `app.activityChain` is the chain of its rows. `app.statistics`:
 * how often something happened. `app.verifyActivity` verifies the chain. Once the service listens, it links and counts new rows in the
 * background.
 */
export const activityPlugin = definePlugin('activity', (services) => {
  const { config, clock, every } = services;
  const signatures = createSignatures(keysFor(config, 'activity'));
  const activityChain = createChain(services, signatures);
  every(linkInterval, () => activityChain.link(), 'the audit log could not be linked', 'error');
  const statistics = createStatistics(services);
  every(countInterval, () => statistics.count(), 'new rows of the audit log could not be counted for the statistics');
  const { AUDIT_RETENTION: retention } = config;
  if (retention !== null) {
    const clear = () => activityChain.removeOlderThan(new Date(clock().getTime() - retention));
    every(hour, clear, 'old rows of the audit log could not be removed');
  }
  return {
    activity: createActivity(createAuditLog(services, signatures)),
    activityChain,
    statistics,
    verifyActivity: createVerifyActivity(services, signatures),
  };
});
