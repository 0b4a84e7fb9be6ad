/**
 * Asks at a steady pace, whether or not the answers come: how long those take whose turn it is while others keep the
 * server busy. In a process of its own, so that nothing but the server can hold it up.
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { inputOfProgram } from './processes.js';

export interface SteadyInput {
  url: string;
  /** After a first one that does not count: a process that has just been started is slow itself, and slows others down. */
  seconds: number;
  /** Requests a second. */
  rate: number;
  /** Sent with GET. */
  token?: string;
  /** Sent with POST, in turn. */
  bodies?: object[];
}

export interface SteadyResult {
  /** Milliseconds. */
  times: number[];
  statuses: Record<string, number>;
  /** Answers of 503 that do not say when to come back. */
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
