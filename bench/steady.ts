/**
 * Sends requests at a steady pace, whether or not responses arrive, and measures how long they take while other clients keep the
 * server busy. Runs in a process of its own, so that only the server can delay it.
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { inputOfProgram } from './processes.js';

export interface SteadyInput {
  url: string;
  /** How long to measure, after a first second that is ignored: a new process is slow itself and slows others down. */
  seconds: number;
  /** Requests a second. */
  rate: number;
  /** Sent with GET. */
  token?: string;
  /** Sent with POST, one after another in rotation. */
  bodies?: object[];
}

export interface SteadyResult {
  /** Milliseconds. */
  times: number[];
  statuses: Record<string, number>;
  /** Responses with status 503 that lack a `Retry-After` header. */
  withoutRetryAfter: number;
}

const { url, seconds, rate, token, bodies } = inputOfProgram<SteadyInput>();
const agent = new Agent({ keepAlive: true });
const result: SteadyResult = { times: [], statuses: {}, withoutRetryAfter: 0 };
const headers = {
  ...(token ? { authorization: `Bearer ${token}` } : {}),
  ...(bodies ? { 'content-type': 'application/json' } : {}),
};

const ask = (number: number) =>
  new Promise<void>((resolve) => {
    const start = performance.now();
    const note = (status: number | string) => {
      if (number >= rate) result.times.push(performance.now() - start);
      result.statuses[status] = (result.statuses[status] ?? 0) + 1;
      resolve();
    };
    request(url, { agent, headers, method: bodies ? 'POST' : 'GET' }, (response) => {
      if (response.statusCode === 503 && !response.headers['retry-after']) result.withoutRetryAfter++;
      response.resume().once('end', () => note(response.statusCode ?? 0));
    })
      .once('error', () => note('no answer'))
      .end(bodies ? JSON.stringify(bodies[number % bodies.length]) : undefined);
  });

const asked: Promise<void>[] = [];
const start = performance.now();
for (let number = 0; number < (seconds + 1) * rate; number++) {
  asked.push(ask(number));
  const wait = start + ((number + 1) * 1000) / rate - performance.now();
  if (wait > 0) await sleep(wait);
}
await Promise.all(asked);
console.log(JSON.stringify(result));
process.exit();
