import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Received, send } from '../http/send.js';

/** A response as seen by a client. The status is 0 if there was no response. */
export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: any JSON; a client that misreads it fails
  body: any;
}

/** One recorded request. */
export interface RecordedRequest {
  what: string;
  status: number;
  /** When the request was sent, by `performance.now()`. */
  asked: number;
  /** When the response arrived, by `performance.now()`. */
  answered: number;
  retryAfter: string | undefined;
}

export interface RetryingClient {
  /** All responses so far, in order of arrival. */
  readonly notes: readonly RecordedRequest[];
  ask(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
  /**
   * Repeats a request until the response is final, as clients do when there is no response or a response asks them to
   * retry. `isInDoubt` is true if an earlier attempt may have taken effect without a response.
   */
  requestUntilFinal(
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<Answer & { isInDoubt: boolean }>;
}

/** The service always responds within ten seconds. */
const timeoutMs = 15_000;
const pauseMs = 100;
const none: Received = { status: 0, headers: {}, text: '' };

/** Whether clients should retry: there was no response, a gateway failed, or the service is unavailable. */
export const isRetryable = (status: number): boolean => [0, 502, 503, 504].includes(status);

/**
 * @param origin the current origin of the service
 * @param from the local address of a request, for a service behind a proxy; if given, each request has its own
 * connection
 */
export function createAsking(origin: () => string, from?: () => string): RetryingClient {
  const notes: RecordedRequest[] = [];
  const agent = from ? false : new Agent({ keepAlive: true });

  const ask: RetryingClient['ask'] = async (method, path, body, headers = {}) => {
    const asked = performance.now();
    const place = from ? { localAddress: from() } : {};
    const options = { method, headers, agent, signal: AbortSignal.timeout(timeoutMs), ...place };
    const answer = await send(`${origin()}${path}`, options, body && JSON.stringify(body)).catch(() => none);
    const { status, text } = answer;
    const { 'retry-after': retryAfter } = answer.headers;
    notes.push({ what: `${method} ${path.split('?')[0]}`, status, asked, answered: performance.now(), retryAfter });
    return { status, body: text.startsWith('{') ? JSON.parse(text) : undefined };
  };

  return {
    notes,
    ask,
    requestUntilFinal: async (...what) => {
      const [method] = what;
      // A proxy repeats a GET request when the instance that received it first is gone.
      for (let isInDoubt = from !== undefined && method === 'GET'; ; isInDoubt = true) {
        const answer = await ask(...what);
        if (!isRetryable(answer.status)) return { ...answer, isInDoubt };
        await sleep(pauseMs);
      }
    },
  };
}
