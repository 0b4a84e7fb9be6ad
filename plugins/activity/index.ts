import plugin from 'fastify-plugin';
import { keysFor } from '../platform/key-derivation.js';
import { hour } from '../platform/scheduler.js';
import { createAuditLog } from './audit-log.js';
import { type Chain, createChain } from './chain.js';
import { deniedRequestsPlugin } from './denied-requests.js';
import { type Activity, createActivity } from './service.js';
import { createSignatures } from './signatures.js';

declare module 'fastify' {
  interface FastifyInstance {
    activity: Activity;
    activityChain: Chain;
  }
}

/** Milliseconds. For this long, a new row could be removed without leaving a gap in the chain. */
const linkInterval = 1_000;

/**
 * `app.activity`: announces what happened. The audit log stores it, and `app.activityChain` is the chain of its rows. Once the service listens, it links new rows in the
 * background.
 */
export const activityPlugin = plugin(
  async (app) => {
    const { config, db, clock, rateLimits } = app;
    const signatures = createSignatures(keysFor(config, 'activity'));
    const chain = createChain({ db, signatures });
    app.decorate('activity', createActivity(createAuditLog({ db, clock, signatures, rateLimits })));
    app.decorate('activityChain', chain);
    await app.register(deniedRequestsPlugin);

    app.every(linkInterval, () => chain.link(), 'the audit log could not be linked', 'error');
    const { AUDIT_RETENTION: retention } = config;
    if (retention === null) return;
    const clear = () => chain.removeOlderThan(new Date(clock().getTime() - retention));
    app.every(hour, clear, 'old rows of the audit log could not be removed');
  },
  { name: 'activity', dependencies: ['config', 'database', 'clock', 'client', 'scheduler', 'rate-limits'] },
);
