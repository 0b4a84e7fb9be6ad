import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The number of running tasks, and of waiting tasks. */
export interface Load {
  running: number;
  waiting: number;
}

export interface Metrics {
  /** @param seconds from the arrival of the request to the last byte of the response */
  answered(labels: { method: string; route: string; status: number }, seconds: number): void;
  /** Counts an action of a user, such as a login, or its refusal. @param outcome `success`, or the error code */
  happened(action: string, outcome: string): void;
  /** All metrics in the text format of Prometheus, version 0.0.4. */
  text(): Promise<string>;
  readonly contentType: string;
  stop(): void;
}

/** Seconds. The range covers everything from a read without a database query to a login with a full queue. */
const buckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** @param sources called for each request for the metrics */
export function createMetrics(sources: {
  passwords(): Load;
  /** Undefined on the embedded engine, which has no connections. */
  connections(): Load | undefined;
  /** The number of emails in each state. Sent emails are not counted, because they are deleted. */
  mails(): Promise<Record<string, number>>;
}): Metrics {
  const registry = new Registry();
  // Memory, CPU, garbage collection and event loop lag.
  collectDefaultMetrics({ register: registry });
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
  const load = (name: string, help: string, read: () => Load | undefined) =>
    new Gauge({
      name,
      help,
      labelNames: ['state'],
      registers,
      collect() {
        for (const [state, count] of Object.entries(read() ?? {})) this.set({ state }, count);
      },
    });
  load('gatehouse_password_hashes', 'Passwords that are being hashed or are waiting to be hashed.', sources.passwords);
  load(
    'gatehouse_database_work',
    'Statements and transactions that have a connection to PostgreSQL or are waiting for one.',
    sources.connections,
  );
  new Gauge({
    name: 'gatehouse_mails',
    help: 'Emails in the queue, by state (waiting, sending, failed). Every instance reports the same number.',
    labelNames: ['state'],
    registers,
    async collect() {
      this.reset();
      for (const [state, count] of Object.entries(await sources.mails())) this.set({ state }, count);
    },
  });

  return {
    answered: (labels, seconds) => requests.observe(labels, seconds),
    happened: (action, outcome) => events.inc({ action, outcome }),
    text: () => registry.metrics(),
    contentType: registry.contentType,
    stop: () => registry.clear(),
  };
}
