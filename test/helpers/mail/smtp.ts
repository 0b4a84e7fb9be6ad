import type { Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { Test } from 'tap';
import { atEndOf } from '../runner/teardown.js';

export interface TestSmtp {
  /** The emails accepted so far. */
  readonly mails: { raw: string; to: string[] }[];
  /** Breaks all connections. */
  cut(): void;
  close(): Promise<void>;
}

/** Starts a real SMTP server that keeps the emails it accepts. It is closed when the test ends. */
export async function startSmtp(t: Test, port: number, options: SMTPServerOptions = {}): Promise<TestSmtp> {
  const mails: TestSmtp['mails'] = [];
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        mails.push({
          raw: Buffer.concat(chunks).toString(),
          to: session.envelope.rcptTo.map(({ address }) => address),
        });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => {});
  const sockets = new Set<Socket>();
  server.server.on('connection', (socket: Socket) => sockets.add(socket.on('close', () => sockets.delete(socket))));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      cut();
    });
  atEndOf(t, close);
  return { mails, close, cut };
}
