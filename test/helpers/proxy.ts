import { connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import { listen } from './service.js';
import { atEndOf } from './teardown.js';

/** A TCP proxy that can fail as networks do. */
export interface Proxy {
  readonly port: number;
  /** Connections that are open now. */
  connections(): number;
  /** Resets all connections and refuses new ones, as a machine does whose server was stopped. */
  cut(): Promise<void>;
  /** Resets all connections, accepts new ones, and hangs up at once, as a load balancer does with nothing behind it. */
  hangUp(): void;
  /** Passes nothing on any more and accepts connections all the same, as a machine does that hangs. */
  freeze(): void;
  /**
   * Breaks the connection off when a statement with `text` in it is sent, this once: before the server gets to know of it,
   * or after, so that it is done and nobody is told.
   */
  loseStatement(text: string, isDone: boolean): void;
  /** Works again. What was frozen stays dead. */
  restore(): Promise<void>;
}

/** Starts a proxy to `target`, closed when the test ends. */
export async function startProxy(t: Test, target: { host: string; port: number }): Promise<Proxy> {
  type State = 'works' | 'hangs up' | 'frozen';
  let state: State = 'works';
  const open = new Set<Socket>();
  /** Connections that carry nothing any more. */
  const dead = new WeakSet<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
  };
  let losing: { text: string; isDone: boolean } | undefined;
  const isLost = (chunk: Buffer) => losing !== undefined && chunk.includes(losing.text);
  const server = createServer((client) => {
    keep(client);
    if (state === 'hangs up') client.end();
    if (state !== 'works') return;
    const upstream = connect(target.port, target.host);
    keep(upstream);
    client
      .on('data', (chunk) => {
        if (dead.has(client)) return;
        if (!isLost(chunk)) return upstream.write(chunk);
        if (losing?.isDone) upstream.write(chunk);
        losing = undefined;
        dead.add(client);
        // As long as the statement takes, and longer.
        setTimeout(() => client.resetAndDestroy(), 50);
      })
      .on('close', () => upstream.destroy());
    upstream.on('data', (chunk) => dead.has(client) || client.write(chunk)).on('close', () => client.destroy());
  });
  const port = await listen(server);
  const reset = () => {
    for (const socket of open) socket.resetAndDestroy();
  };
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  atEndOf(t, () => {
    reset();
    server.close();
  });
  return {
    port,
    connections: () => open.size / 2,
    cut: async () => {
      const closed = close();
      reset();
      await closed;
    },
    hangUp: () => {
      state = 'hangs up';
      reset();
    },
    freeze: () => {
      state = 'frozen';
      for (const socket of open) dead.add(socket);
    },
    loseStatement: (text, isDone) => {
      losing = { text, isDone };
    },
    restore: async () => {
      if (!server.listening) await listen(server, port);
      state = 'works';
    },
  };
}
