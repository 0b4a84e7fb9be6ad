import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { closedByPeer } from './socket.js';

/**
 * What postgres.js is given for a socket. Its connections (3.4.9) are not fit to be used again once their socket has
 * closed: a statement that is written then ends the process, and answers may go to the wrong statement after it has
 * connected anew. So the driver learns that its line is dead only when `onLost` has seen to it that it writes no more.
 */
export class Line extends EventEmitter {
  readonly #socket: Socket;
  #isEndedByDriver = false;
  #heard = performance.now();

  /** @param onLost told why, before the driver is told at all */
  constructor(socket: Socket, onLost: (error: Error) => Promise<void>) {
    super();
    this.#socket = socket;
    let fault: Error | undefined;
    socket
      .on('data', (chunk) => {
        this.#heard = performance.now();
        this.emit('data', chunk);
      })
      .on('drain', () => this.emit('drain'))
      .on('error', (error) => {
        fault = error;
      })
      .on('end', () => socket.destroy())
      .once('close', async () => {
        if (!this.#isEndedByDriver) await onLost(fault ?? closedByPeer());
        this.emit('close', true);
      });
  }

  /** When something last came, on the clock of `performance.now()`. */
  get heard(): number {
    return this.#heard;
  }

  get readyState(): string {
    return this.#socket.readyState;
  }

  write(chunk: Uint8Array, written?: () => void): boolean {
    return this.#socket.destroyed || this.#socket.write(chunk, written);
  }

  end(chunk?: Uint8Array): void {
    this.#isEndedByDriver = true;
    if (chunk) this.#socket.end(chunk);
    else this.#socket.end();
  }

  destroy(error?: Error): void {
    this.#socket.destroy(error);
  }
}
