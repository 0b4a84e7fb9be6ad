import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Received, send } from '../send.js';

/** An answer as a client sees it. Status 0: there was none. */
export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever came; a client that reads the wrong thing fails by it
  body: any;
}

/** One line of the notes. */
export interface Noted {
  what: string;
  status: number;
  /** When it was asked, and when answered, on the clock of `performance.now()`. */
  asked: number;
  answered: number;
  retryAfter: string | undefined;
}

export interface Asking {
  /** All answers so far, in the order in which they came. */
  readonly notes: readonly Noted[];
  ask(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
  /**
   * Asks until there is an answer that says yes or no, as clients do when there was none, or one that tells them to come
   * back. `isInDoubt`: there may have been none at first, and what was asked for may have been done all the same.
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

/** Whether an answer says that another try is worth it: none at all, a gateway's, the service's own. */
export const isPassing = (status: number): boolean => [0, 502, 503, 504].includes(status);

/**
 * @param origin where the service is to be found just now
 * @param from address of this machine that a request comes from, by way of a proxy; then each has a connection to itself
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
      // A proxy sends a GET once more by itself when the instance that had it first is gone.
      for (let isInDoubt = from !== undefined && method === 'GET'; ; isInDoubt = true) {
        const answer = await ask(...what);
        if (!isPassing(answer.status)) return { ...answer, isInDoubt };
        await sleep(pause);
      }
    },
  };
}
