// @suite not-everyday: sends hundreds of random requests

import fc from 'fast-check';
import t from 'tap';
import { bytesOf, drawStep, mutate, type Step } from '../helpers/fuzz/protocol-requests.js';
import { createProtocolWorld, type ProtocolWorld, redirectUris, signedOutUri } from '../helpers/fuzz/protocol-world.js';
import { createWire, type WireAnswer } from '../helpers/fuzz/wire.js';
import { slowness } from '../helpers/measurements/slowness.js';
import { threadTime } from '../helpers/measurements/worst-block.js';
import { checkAnswer } from '../helpers/openapi/document.js';
import { amountOf } from '../helpers/runner/long.js';

/**
 * Requests to the endpoints of OpenID Connect, to the pages that belong to them, and to the API for clients, resources, and grants. They
 * belong to flows that work, and most of them have one fault. No response may be an internal error, every error must have the format of
 * its protocol, every request must be answered, and none may occupy the event loop for long.
 */

/** The total number of requests, and the number per world. Each world starts with fresh data. */
const runs = amountOf('FUZZ_RUNS', { short: 600, long: 10_000 });
const runsInWorld = 3_000;
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
/** Milliseconds of processor time that a request may occupy the event loop, on a machine of usual speed. */
const maxBlock = 250;

/** How many faults a request has. */
const drawFaults = () => fc.constantFrom(0, 1, 1, 1, 2);

const statuses = new Map<string, number>();
let slowest = { ms: 0, what: '' };

for (let done = 0; done < runs; done += runsInWorld) {
  const worldSeed = seed + done;
  const amount = Math.min(runsInWorld, runs - done);
  t.test(`requests ${done} to ${done + amount}, seed ${worldSeed}`, async (t) => {
    const world = await createProtocolWorld(t);
    const wire = createWire(world.port);
    t.teardown(() => wire.close());
    const limit = maxBlock * slowness();
    let failed: Buffer | undefined;
    let sent = 0;
    // The first requests load the library, and code is slow until it has run often enough.
    const isWarm = () => done + sent > 200;

    const send = async ({ request, learn }: Step): Promise<void> => {
      const bytes = bytesOf(request);
      try {
        const timed = async () => {
          const cpu = threadTime();
          const answer = await wire.send(request.method, bytes);
          return { answer, ms: threadTime() - cpu };
        };
        let { answer, ms } = await timed();
        sent++;
        // A garbage collection or the maintenance of the embedded database may have happened meanwhile. A slow request is slow twice.
        if (isWarm() && ms > limit) ms = Math.min(ms, (await timed()).ms);
        const operation = `${request.method} ${request.path.replace(/[\w-]{20,}/, '…').slice(0, 60)}`;
        if (isWarm() && ms > slowest.ms) slowest = { ms, what: operation };
        statuses.set(String(answer.status), (statuses.get(String(answer.status)) ?? 0) + 1);
        if (isWarm() && ms > limit) throw new Error(`occupied the event loop for ${ms.toFixed(0)} ms`);
        check(world, request.method, bytes, answer);
        learn?.(answer);
      } catch (error) {
        // While fast-check shrinks the request, the last one to fail is the simplest.
        failed = bytes;
        throw error;
      }
    };

    const property = fc.asyncProperty(fc.gen(), async (draw) => {
      if (sent % 200 === 0) await world.signIn();
      const step = await drawStep(draw, world, send);
      const faults = draw(drawFaults);
      await send(Array.from({ length: faults }).reduce<Step>((changed) => mutate(draw, world, changed), step));
    });
    const result = await fc.check(property, { numRuns: amount, seed: worldSeed, endOnFailure: true });
    if (!failed) return void t.pass(`${sent} requests`);
    t.comment(JSON.stringify(failed.toString('latin1').slice(0, 4_000)));
    t.comment(`To reproduce: FUZZ_SEED=${worldSeed} npm run test:fuzz`);
    t.fail(`${result.errorInstance}`);
  });
}

t.test('summary', async (t) => {
  const counts = [...statuses].sort().map(([status, count]) => `${count} × ${status}`);
  t.comment(`${counts.join(', ')}; the most expensive: ${slowest.ms.toFixed(0)} ms, ${slowest.what}`);
  for (const status of ['200', '303', '400', '401']) t.ok(statuses.has(status), `some responses were ${status}`);
});

const protocolPaths = /^\/(oauth|\.well-known\/(openid-configuration|oauth-authorization-server))(\/|\?|$)/;

/** A path that cannot be decoded belongs to no endpoint. */
function isDecodable(target: string): boolean {
  try {
    decodeURIComponent(target.split('?', 1)[0] ?? '');
    return true;
  } catch {
    return false;
  }
}

/** @throws if a response is not one that clients expect */
function check({ url }: ProtocolWorld, method: string, bytes: Buffer, answer: WireAnswer): void {
  const { status, headers, body } = answer;
  if (status >= 500) throw new Error(`${status}: ${body}`);
  const target = bytes.toString('latin1', 0, bytes.indexOf(' HTTP/1.1\r\n')).slice(method.length + 1);
  checkAnswer({ method, url: target, ...answer });
  const type = String(headers['content-type'] ?? '');
  if (status >= 400 && method !== 'HEAD') {
    const isProtocol = isDecodable(target) && protocolPaths.test(target);
    const parsed = type.startsWith('application/json') ? JSON.parse(body) : undefined;
    const isPage = type.startsWith('text/html') && /^\/(oauth|account)\/authorize/.test(target);
    const isError = isProtocol ? typeof parsed?.error === 'string' : typeof parsed?.errors?.[0]?.message === 'string';
    if (!isError && !isPage) throw new Error(`${status} ${type}, which is not an error of the protocol: ${body}`);
  }
  const { location } = headers;
  const allowed = [`${url}/`, '/', ...redirectUris, 'http://127.0.0.1:', signedOutUri];
  if (
    typeof location === 'string' &&
    (location.startsWith('//') || !allowed.some((start) => location.startsWith(start)))
  )
    throw new Error(`redirects to ${location}`);
}
