// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: sends thousands of requests

import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { engine } from '../helpers/database/databases.js';
import { createConnection } from '../helpers/hostile/connection.js';
import { type MemorySample, memoryGrowth } from '../helpers/hostile/memory.js';
import { createHostileActs, type HostileAct } from '../helpers/hostile/requests.js';
import { renewWorld } from '../helpers/hostile/world.js';
import { memoryOf, processorTime } from '../helpers/measurements/proc.js';
import { apiDocument } from '../helpers/openapi/document.js';
import { amountOf } from '../helpers/runner/long.js';
import { createHome, logLines, startQuietService } from '../helpers/service/service.js';
import { variables } from '../helpers/users/over-http.js';

/**
 * A service in its own process, and clients that send hostile input: invalid requests generated from the document, sent
 * in series on persistent connections; such requests with altered bytes; input that is not HTTP; and requests that are
 * incomplete, arrive in small pieces, or are too large. No response may be an internal error, every connection must be
 * answered or closed, the process must survive, and its memory must not grow after a warm-up. `npm run test:soak` sends
 * a million requests.
 */

const amount = amountOf('HOSTILE_REQUESTS', { short: 1_000, long: 20_000 });
const seed = Number(process.env.HOSTILE_SEED ?? Date.now() % 2 ** 31);
const connections = 24;
/**
 * The number of requests in one world, and the number of different requests generated for it. There are at least two
 * worlds.
 */
const inWorld = Math.min(20_000, Math.ceil(amount / 2));
const poolSize = Math.min(600, Math.ceil(inWorld / 4));
/**
 * Megabytes by which memory may grow after a quarter of the requests. A few thousand requests are not enough for a
 * warm-up.
 */
const maxGrowth = amount >= 80_000 ? 64 : 256;

const said = (line: string) => process.stderr.write(`${line}\n`);
const readable = ({ sending }: HostileAct) =>
  JSON.stringify(Buffer.concat(sending.pieces.slice(0, 50)).toString('latin1').slice(0, 3_000));

t.test(`the service withstands ${amount} hostile requests, seed ${seed}`, async (t) => {
  const service = await startQuietService(await createHome(t, { prepared: true }), {
    ...variables,
    REGISTRATION_ANSWER_TIME: '1ms',
    // Without a limit, a list could contain the whole audit log, which only grows.
    QUERY_LIMIT_MAX: '1000',
    PASSWORD_RESET_URL_ALLOW_LIST: 'https://app.example/reset',
    USER_INVITE_URL_ALLOW_LIST: 'https://app.example/invite',
    USER_REGISTER_URL_ALLOW_LIST: 'https://app.example/verify',
  });
  const port = Number(new URL(service.url).port);
  const statuses = new Map<number, number>();
  const kinds = new Map<string, { requests: number; ms: number }>();
  const faults: string[] = [];
  const samples: MemorySample[] = [];
  let [sent, unanswered, overloaded, slowest] = [0, 0, 0, 0];
  const start = performance.now();
  const cpuAtStart = { service: processorTime(service.pid), clients: processorTime(process.pid) };
  const isEnded = () => faults.length >= 5;

  const perform = async (connection: ReturnType<typeof createConnection>, act: HostileAct) => {
    const { kind, sending } = act;
    const began = performance.now();
    const { answers, isStuck } = await connection.send(sending);
    const ms = performance.now() - began;
    if (kind !== 'slow') slowest = Math.max(slowest, ms);
    if (isStuck) faults.push(`${kind}: neither answered nor closed: ${readable(act)}`);
    // Requests after one that ends the connection are not processed, and are not counted.
    const isCutOff = ['shallow', 'drawn'].includes(kind) && answers.at(-1)?.isLast;
    const counted = isCutOff ? answers.length : act.amount;
    if (sending.ending === 'answers' && !isCutOff && answers.length < act.amount && !isEnded()) {
      faults.push(
        `${kind}: ${answers.length} of ${act.amount} answered, then the connection was closed: ${readable(act)}`,
      );
    }
    for (const { status, retryAfter, body } of answers) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 503 && retryAfter !== undefined) overloaded++;
      else if (status >= 500) faults.push(`${status} ${body}: ${readable(act)}`);
    }
    sent += counted;
    unanswered += Math.max(0, counted - answers.length);
    const sum = kinds.get(kind) ?? { requests: 0, ms: 0 };
    kinds.set(kind, { requests: sum.requests + counted, ms: sum.ms + ms });
  };

  // Some clients pause after half a line, and keep their connections open all the time.
  const idlers = Array.from({ length: 20 }, () => createConnection(port));
  let isOver = false;
  const idling = idlers.map(async (connection) => {
    while (!isOver) {
      await connection.send({
        pieces: [Buffer.from('GET /server/ping HT'), Buffer.from('TP/1.1\r\nHost: x\r\n\r\n')],
        pause: 1_000,
        methods: ['GET'],
        ending: 'answers',
      });
    }
    connection.close();
  });

  let progress = 0;
  const timer = setInterval(() => {
    if (ending) return;
    samples.push({ requests: sent, megabytes: memoryOf(service.pid).now });
    if (amount >= 20_000 && ++progress % 200 === 0) {
      const seconds = (performance.now() - start) / 1000;
      const [rate, megabytes] = [sent / seconds, samples.at(-1)?.megabytes ?? 0];
      said(`${sent} of ${amount} requests, ${rate.toFixed(0)} a second, ${megabytes.toFixed(0)} MB`);
    }
  }, 50);
  let ending: unknown;
  service.ended.then((how) => {
    ending = how;
    if (!isOver) faults.push(`The process has ended: ${JSON.stringify(how)} ${service.stderr.slice(-2_000)}`);
  });

  try {
    for (let round = 0; sent < amount && !isEnded() && !ending; round++) {
      const { known, callers } = await renewWorld(service);
      const next = createHostileActs(apiDocument(), known, callers, { size: poolSize, seed: seed + round });
      const until = Math.min(amount, sent + inWorld);
      await Promise.all(
        Array.from({ length: connections }, async () => {
          const connection = createConnection(port);
          while (sent < until && !isEnded() && !ending) await perform(connection, next());
          connection.close();
        }),
      );
    }
  } catch (error) {
    faults.push(`The next world cannot be created: ${error}`);
  } finally {
    isOver = true;
    clearInterval(timer);
  }
  await Promise.all(idling);
  for (const fault of faults) t.fail(fault);
  if (ending) return;

  const seconds = (performance.now() - start) / 1000;
  const cpu = (pid: number, from: number) => (((processorTime(pid) - from) * 1000) / sent).toFixed(2);
  const { before, after, growth, most } = memoryGrowth(samples, amount);
  const lines = [
    `${sent} requests in ${seconds.toFixed(0)} s on the ${engine} engine: ${(sent / seconds).toFixed(0)} a second`,
    `processor time per request: ${cpu(service.pid, cpuAtStart.service)} ms for the service, ${cpu(process.pid, cpuAtStart.clients)} ms for the clients`,
    [...kinds].map(([kind, { requests, ms }]) => `${kind} ${requests} (${(ms / requests).toFixed(1)} ms)`).join(', '),
    [...statuses]
      .sort(([a], [b]) => a - b)
      .map(([status, times]) => `${times} × ${status}`)
      .join(', '),
    `${unanswered} without a response, because they were incomplete, or altered so that they never ended; ${overloaded} × 503 with Retry-After; the slowest took ${slowest.toFixed(0)} ms`,
    `memory: ${before.toFixed(0)} MB after a quarter, ${after.toFixed(0)} MB at the end, ${most.toFixed(0)} MB at most; growth ${growth.toFixed(0)} MB, limit ${maxGrowth} MB`,
  ];
  for (const line of lines) said(line);
  for (const line of lines) t.comment(line);
  t.ok(sent >= amount || faults.length > 0, `${sent} requests were sent`);
  for (const status of [200, 204, 400, 401, 403, 404]) t.ok(statuses.has(status), `some responses were ${status}`);
  t.equal(overloaded, 0, 'the service was never overloaded: each connection sends one request after another');
  t.ok(growth <= maxGrowth, `memory grew by ${growth.toFixed(0)} MB, limit ${maxGrowth} MB`);

  const health = await service.get('/server/ping');
  t.equal(health.status, 200, 'the service is healthy');
  await sleep(100);
  const complaints = logLines(service.stdout).filter(({ level }) => Number(level) >= 50);
  t.strictSame(complaints.slice(0, 3), [], 'no error in the log');
  t.strictSame(await service.stop(), { code: 0, signal: null }, 'the service stops properly');
});
