import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { closedByPeer } from './socket.js';

/**
 * The socket that is passed to postgres.js. Its connections (3.4.9) cannot be reused safely once their socket has closed: a statement
 * that is written after that crashes the process, and after a reconnect, responses may be matched to the wrong statement. The driver
 * therefore learns that its socket has closed only after `onLost` has made sure that it writes nothing more.
 */
export class DriverSocket extends EventEmitter {
  readonly #socket: Socket;
  #isEndedByDriver = false;
  #heard = performance.now();

  /** @param onLost called with the reason, before the driver learns of the loss */
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

  /** When data last arrived, on the clock of `performance.now()`. */
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
