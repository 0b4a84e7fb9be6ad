import autocannon from 'autocannon';

export interface Load {
  url: string;
  path: string;
  method?: 'GET' | 'POST';
  connections: number;
  seconds: number;
  /** Requests per second; without it, as many as possible. */
  rate?: number;
  /** Returns the credentials and the body of the next request. */
  next(): { token?: string; authorization?: string; cookie?: string; body?: object; form?: Record<string, string> };
  /** Called with the body of each successful response. */
  onSuccess?(body: string): void;
}

/** What a measurement has achieved. */
export interface Throughput {
  /** Number of successful operations. */
  count: number;
  /** Successful operations per second. */
  rate: number;
}

export interface LoadResult extends Throughput {
  /** Number of responses with each status. */
  statuses: Record<string, number>;
  /** Responses with status 503 that lack a `Retry-After` header. */
  withoutRetryAfter: number;
  /** Response times in whole milliseconds. */
  latency: { median: number; p99: number };
}

/** Sends requests for some seconds, one after the other on each connection. @throws when a connection fails */
export async function load({ url, path, method = 'GET', next, onSuccess, ...options }: Load): Promise<LoadResult> {
  let withoutRetryAfter = 0;
  const request: autocannon.Request = {
    method,
    path,
    setupRequest: (asked) => {
      const { token, authorization = token && `Bearer ${token}`, cookie, body, form } = next();
      const headers = {
        ...(authorization ? { authorization } : {}),
        ...(cookie ? { cookie } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
      };
      if (form) return { ...asked, headers, body: String(new URLSearchParams(form)) };
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
  const count = Object.entries(statuses).reduce(
    (sum, [status, times]) => (status.startsWith('2') ? sum + times : sum),
    0,
  );
  const latency = { median: result.latency.p50, p99: result.latency.p99 };
  return { count, rate: count / result.duration, statuses, withoutRetryAfter, latency };
}

/** @throws unless all requests got this status */
export function only<Result extends LoadResult>(result: Result, status: string): Result {
  const others = Object.keys(result.statuses).filter((other) => other !== status);
  if (others.length > 0) throw new Error(`Not every answer is ${status}: ${JSON.stringify(result.statuses)}`);
  return result;
}
