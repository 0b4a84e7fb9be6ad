import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type Outage, outageReasons } from '../../schemas/errors.js';

/** The number of running tasks, and of waiting tasks. */
export interface Load {
  running: number;
  waiting: number;
}

/** The emails in the queue. */
export interface QueuedMails {
  /** The number in each state. Sent emails are not counted, because they are deleted. */
  states: Readonly<Record<string, number>>;
  /** When the oldest unsent email was queued; null if all emails have been sent. */
  oldest: Date | null;
}

/** Where the gauges get their values. None of these waits for another system. An undefined value omits the gauge. */
export interface Sources {
  version: string;
  now(): Date;
  passwords(): Load;
  /** Undefined on the embedded engine, which has no connections. */
  connections(): (Load & { max: number }) | undefined;
  /** Whether the last check of a component succeeded; undefined if there is no such component. */
  isUp(component: 'database' | 'redis'): boolean | undefined;
  writesFailingSince(): Date | null;
  /** As last counted; undefined if they have never been counted. */
  mails(): QueuedMails | undefined;
  /** The keys that sign now, by the kind of token, and since when. A key that is derived from SECRET is absent. */
  signingKeys(): { signs: string; algorithm: string; signsFrom: Date }[];
  /** Every user action, paired with each outcome that it can have. */
  outcomes(): Iterable<readonly [action: string, outcome: string]>;
}

export interface Metrics {
  /** @param seconds from the arrival of the request to the last byte of the response */
  recordResponse(labels: { method: string; route: string; status: number }, seconds: number): void;
  /** Counts an action of a user, such as a login, or its refusal. @param outcome `success`, or the error code */
  recordEvent(action: string, outcome: string): void;
  /** Counts a request that failed because a component is unavailable. */
  recordOutage(outage: Outage): void;
  /** Counts connections that were closed because the process has too few file descriptors. */
  recordRefusedConnection(): void;
  /** All metrics in the text format of Prometheus, version 0.0.4. */
  text(): Promise<string>;
  readonly contentType: string;
  stop(): void;
}

/** Seconds. The range covers everything from a read without a database query to a login with a full queue. */
const buckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Gauges of the library with names that are reserved for counters. Prometheus tools report these names as faults. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export function createMetrics(sources: Sources): Metrics {
  const registry = new Registry();
  // Memory, CPU, garbage collection and event loop lag.
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  const registers = [registry];

  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Response time in seconds, by method, route pattern and status.',
    labelNames: ['method', 'route', 'status'],
    buckets,
    registers,
  });
  const events = new Counter({
    name: 'gatehouse_events_total',
    help: 'User actions, by action (login, password_reset, …) and outcome (success or the error code).',
    labelNames: ['action', 'outcome'],
    registers,
  });
  const unavailable = new Counter({
    name: 'gatehouse_unavailable_total',
    help: 'Requests that failed because a component is unavailable, by reason.',
    labelNames: ['reason'],
    registers,
  });
  const refused = new Counter({
    name: 'gatehouse_connections_refused_total',
    help: 'Connections that were closed because the process has too few file descriptors.',
    registers,
  });
  // A counter that first appears with the value 1 has not increased, as far as Prometheus can tell.
  for (const reason of outageReasons) unavailable.inc({ reason }, 0);
  let hasOutcomes = false;
  const startOutcomes = () => {
    if (!hasOutcomes) for (const [action, outcome] of sources.outcomes()) events.inc({ action, outcome }, 0);
    hasOutcomes = true;
  };

  new Gauge({
    name: 'gatehouse_build_info',
    help: 'The version of the service and of Node.js. The value is always 1.',
    labelNames: ['version', 'node_version'],
    registers,
  }).set({ version: sources.version, node_version: process.version }, 1);

  /** A gauge without labels. */
  const gauge = (name: string, help: string, read: () => number | boolean | undefined) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const value = read();
        if (value === undefined) this.remove();
        else this.set(Number(value));
      },
    });
  const secondsSince = (moment: Date | undefined | null) =>
    moment && Math.max(0, (sources.now().getTime() - moment.getTime()) / 1_000);

  gauge('gatehouse_database_up', 'Whether the last health check of the database succeeded.', () =>
    sources.isUp('database'),
  );
  gauge('gatehouse_redis_up', 'Whether the last health check of Redis succeeded.', () => sources.isUp('redis'));
  gauge(
    'gatehouse_database_writes_failing_since_seconds',
    'Unix time of the first failed write to the database since the last successful one; 0 if writes succeed.',
    () => (sources.writesFailingSince()?.getTime() ?? 0) / 1_000,
  );
  gauge(
    'gatehouse_database_pool_in_use',
    'Connections to PostgreSQL that are in use.',
    () => sources.connections()?.running,
  );
  gauge(
    'gatehouse_database_pool_waiting',
    'Statements and transactions that wait for a connection to PostgreSQL.',
    () => sources.connections()?.waiting,
  );
  gauge(
    'gatehouse_database_pool_size',
    'Maximum number of connections to PostgreSQL.',
    () => sources.connections()?.max,
  );
  gauge(
    'gatehouse_oldest_waiting_mail_age_seconds',
    'Age of the oldest email that has not been sent yet. 0 if all have been sent.',
    () => {
      const mails = sources.mails();
      return mails && (secondsSince(mails.oldest) ?? 0);
    },
  );

  new Gauge({
    name: 'gatehouse_signing_key_age_seconds',
    help: 'Time since the current key began to sign, by what it signs (access_tokens, id_tokens, resource_tokens) and algorithm. Absent for keys that are derived from SECRET.',
    labelNames: ['signs', 'algorithm'],
    registers,
    collect() {
      this.reset();
      for (const { signs, algorithm, signsFrom } of sources.signingKeys())
        this.set({ signs, algorithm }, secondsSince(signsFrom) ?? 0);
    },
  });
  new Gauge({
    name: 'gatehouse_password_hashes',
    help: 'Passwords that are being hashed (running) or are waiting to be hashed (waiting).',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(sources.passwords())) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'gatehouse_mails',
    help: 'Emails in the queue, by state (waiting, sending, failed). Every instance reports the same number.',
    labelNames: ['state'],
    registers,
    collect() {
      this.reset();
      for (const [state, count] of Object.entries(sources.mails()?.states ?? {})) this.set({ state }, count);
    },
  });

  return {
    recordResponse: (labels, seconds) => requests.observe(labels, seconds),
    recordEvent: (action, outcome) => events.inc({ action, outcome }),
    recordOutage: ({ reason }) => unavailable.inc({ reason }),
    recordRefusedConnection: () => refused.inc(),
    text: () => {
      startOutcomes();
      return registry.metrics();
    },
    contentType: registry.contentType,
    stop: () => registry.clear(),
  };
}
