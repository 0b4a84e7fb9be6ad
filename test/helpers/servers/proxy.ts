import { connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';
import { listen } from './ports.js';

/** A TCP proxy that can simulate network failures. */
export interface Proxy {
  readonly port: number;
  /** The number of open connections. */
  connections(): number;
  /** Resets all connections and refuses new ones, like a machine whose server has stopped. */
  cut(): Promise<void>;
  /** Resets all connections, accepts new ones, and hangs up immediately, like a load balancer without a backend. */
  hangUp(): void;
  /** Accepts connections but forwards nothing, like a machine that hangs. */
  freeze(): void;
  /**
   * Breaks the connection once, when a statement that contains `text` is sent. With `isDone`, the server still executes
   * the statement, but the client gets no response.
   */
  loseStatement(text: string, isDone: boolean): void;
  /** Resumes normal operation. Frozen connections stay dead. */
  restore(): Promise<void>;
}

/** Starts a proxy to `target`. It is closed when the test ends. */
export async function startProxy(t: Test, target: { host: string; port: number }): Promise<Proxy> {
  type State = 'works' | 'hangs up' | 'frozen';
  let state: State = 'works';
  const open = new Set<Socket>();
  /** Connections that no longer carry data. */
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
        // Wait longer than the statement takes.
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
