// @suite embedded-only: hardly depends on the engine
// @suite not-everyday: waits for timeouts

import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { memoryOf } from '../helpers/measurements/proc.js';
import { slowness } from '../helpers/measurements/slowness.js';
import { createHome, startQuietService } from '../helpers/service/service.js';
import { administrator } from '../helpers/users/credentials.js';
import { variables } from '../helpers/users/over-http.js';

/**
 * Clients that hold connections open and send almost nothing (Slowloris, RFC 9110 section 15.5.9). `npm run test:soak`
 * opens 3,000 of them and waits until the service has closed them all, which takes up to a minute.
 */

const isSoak = process.env.SLOW_CONNECTIONS !== undefined;
const amount = Number(process.env.SLOW_CONNECTIONS ?? 300);
/** The time limit for a complete request, and the interval at which Node looks for requests that exceed it. */
const requestTimeoutMs = 30_000;
const checkIntervalMs = 30_000;
/** The time limit for a response, after which the service closes a connection whose body is incomplete. */
const responseTimeoutMs = 10_000;

const head = 'POST /auth/login HTTP/1.1\r\nHost: gatehouse.example\r\nContent-Type: application/json\r\n';
/** What each kind of client sends first. Those with `continues` then send it one byte a second. */
const kinds = [
  { kind: 'nothing', first: '', continues: '' },
  { kind: 'headers that never end', first: head, continues: 'X' },
  { kind: 'a body that never ends', first: `${head}Content-Length: 1000\r\n\r\n{"email":"`, continues: 'x' },
];

interface SlowConnection {
  kind: string;
  socket: Socket;
  continues: string;
  received: string;
  isClosed: boolean;
}

function openSlowConnection(port: number, { kind, first, continues }: (typeof kinds)[number]): Promise<SlowConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const connection: SlowConnection = { kind, socket, continues, received: '', isClosed: false };
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      connection.received += chunk;
    });
    socket.once('error', reject);
    socket.once('close', () => {
      connection.isClosed = true;
    });
    socket.once('connect', () => {
      // From now on, the service may close the connection at any time.
      socket.off('error', reject).on('error', () => undefined);
      if (first !== '') socket.write(first);
      resolve(connection);
    });
  });
}

t.test(`${amount} slow connections do not keep other clients waiting, and are closed`, async (t) => {
  const service = await startQuietService(await createHome(t, { prepared: true }), variables);
  const port = Number(new URL(service.url).port);
  const memoryBefore = memoryOf(service.pid).now;

  const connections: SlowConnection[] = [];
  t.teardown(() => {
    for (const { socket } of connections) socket.destroy();
  });
  const start = performance.now();
  while (connections.length < amount) {
    const batch = kinds.map((kind) => openSlowConnection(port, kind));
    connections.push(...(await Promise.all(batch)));
  }
  const openedAfter = performance.now() - start;
  const trickle = setInterval(() => {
    for (const { socket, continues, isClosed } of connections)
      if (continues !== '' && !isClosed) socket.write(continues);
  }, 1_000);
  t.teardown(() => clearInterval(trickle));

  const waits: number[] = [];
  // On a slow machine, fewer rounds fit into the time in which the connections are open.
  const end = start + responseTimeoutMs - 2_000;
  for (let round = 0; round < 40 && (round < 5 || performance.now() < end); round++) {
    const asked = performance.now();
    const login = await service.post('/auth/login', administrator);
    waits.push(performance.now() - asked);
    t.equal(login.status, 200, 'a login while the slow connections are open');
    await sleep(50);
  }
  t.ok(
    openedAfter < responseTimeoutMs / 2 && connections.every(({ isClosed }) => !isClosed),
    'all were open meanwhile',
  );
  const growth = memoryOf(service.pid).now - memoryBefore;
  t.comment(`slowest login ${Math.max(...waits).toFixed(0)} ms, memory +${growth.toFixed(0)} MB`);
  t.ok(Math.max(...waits) < 1_000 * slowness(), 'no login took a second');
  t.ok(growth < 128, `memory grew by less than 128 MB: ${growth.toFixed(0)}`);

  if (!isSoak) return;
  const limit = start + openedAfter + requestTimeoutMs + checkIntervalMs + 10_000;
  while (connections.some(({ isClosed }) => !isClosed) && performance.now() < limit) await sleep(250);
  for (const { kind } of kinds) {
    const those = connections.filter((connection) => connection.kind === kind);
    t.equal(those.filter(({ isClosed }) => !isClosed).length, 0, `${kind}: all closed`);
    const unexplained = those.filter(({ received }) => !/^HTTP\/1\.1 400 .*too long to arrive/s.test(received));
    t.equal(unexplained.length, 0, `${kind}: each was told why; one got: ${unexplained[0]?.received}`);
  }
  t.equal((await service.post('/auth/login', administrator)).status, 200, 'the service still works');
});
