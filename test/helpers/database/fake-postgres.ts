import { createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';
import { listen } from '../servers/ports.js';

/**
 * What listens on the port: a PostgreSQL server that requests a password and then rejects the client with an SQLSTATE,
 * a server that never responds, a server that hangs up immediately (like a proxy without a backend), or a web server.
 */
export type FakePostgres = { refusal: { code: string; message: string } } | 'silent' | 'hangs up' | 'http';

/** Starts a server with this behavior, which listens until the test ends. Returns its port. */
export async function startFakePostgres(t: Test, behavior: FakePostgres): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    if (behavior === 'hangs up') socket.end();
    else if (behavior === 'http') socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    else if (behavior === 'silent') socket.resume();
    else refuse(socket, behavior.refusal);
  });
  const port = await listen(server);
  atEndOf(t, () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return port;
}

/** Sends the two messages of the PostgreSQL protocol that reject a client. */
function refuse(socket: Socket, { code, message }: { code: string; message: string }): void {
  socket.once('data', () => {
    const cleartextPassword = Buffer.alloc(4);
    cleartextPassword.writeInt32BE(3);
    socket.write(protocolMessage('R', cleartextPassword));
    socket.once('data', () => {
      socket.end(protocolMessage('E', Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)));
    });
  });
}

/** A message consists of a type, a length that includes itself, and a body. */
function protocolMessage(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
