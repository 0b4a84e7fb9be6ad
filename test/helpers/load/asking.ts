import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Received, send } from '../send.js';

/** A response as a client sees it. Status 0: there was no response. */
export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever came; a client that reads the wrong thing fails by it
  body: any;
}

/** One recorded request. */
export interface Noted {
  what: string;
  status: number;
  /** When the request was sent and when it was answered, on the clock of `performance.now()`. */
  asked: number;
  answered: number;
  retryAfter: string | undefined;
}

export interface Asking {
  /** All responses so far, in the order in which they arrived. */
  readonly notes: readonly Noted[];
  ask(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
  /**
   * Repeats a request until the response is final, as clients do when there is no response or a response asks them to
   * retry. `isInDoubt`: an earlier attempt may have had no response, and may have taken effect nevertheless.
   */
  insist(
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<Answer & { isInDoubt: boolean }>;
}

/** Milliseconds. The service answers within ten seconds, whatever happens. */
const patience = 15_000;
const pause = 100;
const none: Received = { status: 0, headers: {}, text: '' };

/**
 * Whether a retry is worthwhile: after no response, after a gateway error, and when the service says that it is
 * unavailable.
 */
export const isPassing = (status: number): boolean => [0, 502, 503, 504].includes(status);

/**
 * @param origin the current origin of the service
 * @param from the local address that a request comes from, for a service behind a proxy; each request then has its own
 * connection
 */
export function createAsking(origin: () => string, from?: () => string): Asking {
  const notes: Noted[] = [];
  const agent = from ? false : new Agent({ keepAlive: true });

  const ask: Asking['ask'] = async (method, path, body, headers = {}) => {
    const asked = performance.now();
    const place = from ? { localAddress: from() } : {};
    const options = { method, headers, agent, signal: AbortSignal.timeout(patience), ...place };
    const answer = await send(`${origin()}${path}`, options, body && JSON.stringify(body)).catch(() => none);
    const { status, text } = answer;
    const { 'retry-after': retryAfter } = answer.headers;
    notes.push({ what: `${method} ${path.split('?')[0]}`, status, asked, answered: performance.now(), retryAfter });
    return { status, body: text.startsWith('{') ? JSON.parse(text) : undefined };
  };

  return {
    notes,
    ask,
    insist: async (...what) => {
      const [method] = what;
      // A proxy repeats a GET request when the instance that received it first is gone.
      for (let isInDoubt = from !== undefined && method === 'GET'; ; isInDoubt = true) {
        const answer = await ask(...what);
        if (!isPassing(answer.status)) return { ...answer, isInDoubt };
        await sleep(pause);
      }
    },
  };
}
