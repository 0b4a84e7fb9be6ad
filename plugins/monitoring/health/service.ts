import { pingDatabase } from '../../../db/queries/platform/health.js';
import { readPublicSettings } from '../../../db/queries/settings/settings.js';
import type { CheckResult, Health, ServerInfo } from '../../../schemas/server.js';
import type { Services } from '../../platform/plugin.js';
import { within } from '../../platform/within.js';

export interface HealthReport {
  status: Health['status'];
  checks: NonNullable<Health['checks']>;
}

export interface HealthChecks {
  /** Checks all components. Concurrent callers, and callers within the next second, share one result. */
  check(): Promise<HealthReport>;
  /**
   * The result of the last check, without a new one. A component that has not responded for a second counts as unavailable. Before
   * the first result, every component counts as available, because the service has just used it to start.
   */
  latest(): HealthReport;
  /** Whether the last check of a component succeeded; undefined if there is no such component. */
  isUp(component: 'database' | 'redis'): boolean | undefined;
  /** From now on, the status is `error`, so that load balancers send no further requests. */
  startDraining(): void;
  /** The public settings of the project. */
  info(): Promise<ServerInfo>;
}

const checkTimeoutMs = 2_000;
const maxSilenceMs = 1_000;
const cacheMs = 1_000;

/** @param onChange called when a component becomes unavailable, and when it is available again */
export function createHealthChecks(
  { db, redis, outages }: Services,
  onChange: (component: string, status: CheckResult['status']) => void,
): HealthChecks {
  const database = createCheck(
    () => pingDatabase(db),
    (status) => onChange('database', status),
  );
  // There is no `onChange` for Redis, because `platform/redis.ts` reports its outages.
  const shared = redis && createCheck(() => redis.ping());
  let isDraining = false;

  const report = (): HealthReport => {
    const failingSince = outages.writesFailingSince();
    const checks = {
      database: database.latest(),
      ...(shared ? { redis: shared.latest() } : {}),
      writes: failingSince
        ? ({ status: 'error', failing_since: failingSince.toISOString() } as const)
        : ({ status: 'ok' } as const),
    };
    if (isDraining || checks.database.status === 'error') return { status: 'error', checks };
    // The service works without Redis. If it cannot write, it can still read, so it is not taken out of service either.
    return { status: failingSince ? 'warn' : 'ok', checks };
  };

  // Anyone can request the health status, so frequent requests must be cheap.
  let checking: Promise<HealthReport> | undefined;
  let freshUntil = 0;
  const check = () => {
    if (!checking || performance.now() > freshUntil) {
      freshUntil = Number.POSITIVE_INFINITY;
      checking = Promise.all([database.run(), shared?.run()])
        .then(report)
        .finally(() => {
          freshUntil = performance.now() + cacheMs;
        });
    }
    return checking;
  };

  return {
    check: async () => {
      await check();
      return report();
    },
    latest: report,
    isUp: (component) => {
      const check = component === 'redis' ? shared : database;
      return check ? check.latest().status === 'ok' : undefined;
    },
    startDraining: () => {
      isDraining = true;
    },
    info: async () => ({ project: await readPublicSettings(db) }),
  };
}

/** The check of one component. */
interface Check {
  /** Checks the component. Never fails. */
  run(): Promise<void>;
  latest(): CheckResult;
}

function createCheck(
  work: () => Promise<unknown>,
  onChange: (status: CheckResult['status']) => void = () => {},
): Check {
  let latest: CheckResult = { status: 'ok', latency_ms: 0 };
  /** When the current run began; undefined between runs. */
  let begun: number | undefined;
  const elapsed = (since: number) => Math.round((performance.now() - since) * 10) / 10;

  return {
    run: async () => {
      const start = performance.now();
      begun = start;
      const status = await runCheck(work);
      begun = undefined;
      if (status !== latest.status) onChange(status);
      latest = { status, latency_ms: elapsed(start) };
    },
    latest: () =>
      begun !== undefined && elapsed(begun) > maxSilenceMs ? { status: 'error', latency_ms: elapsed(begun) } : latest,
  };
}

/** `error` if the work fails or takes longer than `checkTimeoutMs`. */
async function runCheck(work: () => Promise<unknown>): Promise<CheckResult['status']> {
  try {
    await within(checkTimeoutMs, work(), () => new Error('The check took too long.'));
    return 'ok';
  } catch {
    return 'error';
  }
}
