import autocannon from 'autocannon';

export interface Load {
  url: string;
  path: string;
  method?: 'GET' | 'POST';
  connections: number;
  seconds: number;
  /** Requests a second, where not as many as there can be. */
  rate?: number;
  /** What the next request brings along. */
  next(): { token?: string; body?: object };
  /** Told of each answer of success. */
  onSuccess?(body: string): void;
}

export interface LoadResult {
  /** Answers of success a second. */
  rate: number;
  /** How often each status was answered. */
  statuses: Record<string, number>;
  /** Answers of 503 that do not say when to come back. */
  withoutRetryAfter: number;
  /** How long answers took, in whole milliseconds. */
  latency: { median: number; p99: number };
}

/** Asks for some seconds, on each connection one request after the other. @throws when a connection fails */
export async function load({ url, path, method = 'GET', next, onSuccess, ...options }: Load): Promise<LoadResult> {
  let withoutRetryAfter = 0;
  const request: autocannon.Request = {
    method,
    path,
    setupRequest: (asked) => {
      const { token, body } = next();
      const headers = {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
      };
      return { ...asked, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    },
    onResponse: (status, text, _context, headers) => {
      if (status === 200) onSuccess?.(text);
      const names = Object.keys(headers ?? {}).map((name) => name.toLowerCase());
      if (status === 503 && !names.includes('retry-after')) withoutRetryAfter++;
    },
  };
  const result = await autocannon({
    url,
    connections: options.connections,
    duration: options.seconds,
    ...(options.rate === undefined ? {} : { overallRate: options.rate }),
    timeout: 60,
    requests: [request],
  });
  if (result.errors > 0) throw new Error(`${result.errors} requests of ${method} ${path} got no answer.`);
  const statuses = Object.fromEntries(
    Object.entries(result.statusCodeStats ?? {}).map(([status, { count }]) => [status, Number(count)]),
  );
  const succeeded = Object.entries(statuses).reduce(
    (sum, [status, count]) => (status.startsWith('2') ? sum + count : sum),
    0,
  );
  const latency = { median: result.latency.p50, p99: result.latency.p99 };
  return { rate: succeeded / result.duration, statuses, withoutRetryAfter, latency };
}
