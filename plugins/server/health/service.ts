import type { Redis } from 'ioredis';
import type { Executor } from '../../../db/client.js';
import { pingDatabase } from '../../../db/queries/server/health.js';
import { readPublicSettings } from '../../../db/queries/settings/settings.js';
import type { Health, ServerInfo } from '../../../schemas/server.js';

export interface HealthChecks {
  /** Checks all components. Concurrent callers, and callers within the next second, share one result. */
  check(): Promise<{ status: Health['status']; checks: NonNullable<Health['checks']> }>;
  /** The public settings of the project. */
  info(): Promise<ServerInfo>;
}

const checkTimeoutMs = 2_000;
const freshFor = 1_000;

export function createHealthChecks({ db, redis }: { db: Executor; redis: Redis | null }): HealthChecks {
  const checkAll = async () => {
    const [database, shared] = await Promise.all([timed(() => pingDatabase(db)), redis && timed(() => redis.ping())]);
    // The service also works without Redis, so Redis does not affect the status.
    return { status: database.status, checks: { database, ...(shared ? { redis: shared } : {}) } };
  };

  // Anyone can request the health status, so frequent requests must be cheap.
  let latest: ReturnType<typeof checkAll> | undefined;
  let freshUntil = 0;

  return {
    check: () => {
      if (!latest || performance.now() > freshUntil) {
        freshUntil = Number.POSITIVE_INFINITY;
        latest = checkAll().finally(() => {
          freshUntil = performance.now() + freshFor;
        });
      }
      return latest;
    },
    info: async () => ({ project: await readPublicSettings(db) }),
  };
}

/** Runs a check. It fails if it throws or takes longer than `checkTimeoutMs`. */
async function timed(check: () => Promise<unknown>) {
  const start = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The check took too long.')), checkTimeoutMs);
  });
  const status = await Promise.race([check(), timeout]).then(
    () => 'ok' as const,
    () => 'error' as const,
  );
  clearTimeout(timer);
  return { status, latency_ms: Math.round((performance.now() - start) * 10) / 10 };
}
