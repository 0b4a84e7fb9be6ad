import { closeSync } from 'node:fs';
import { isatty } from 'node:tty';

/** Determined when the process starts, because a closed terminal no longer looks like one. */
const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));

/** Whether the standard input was a terminal when the process started. */
export const startedOnTerminal = terminals.includes(0);

/**
 * Lets the process continue and end normally after its terminal has been closed, or the reader of its output has gone. Failures to write
 * to such an output are ignored, because there is no other place to report them.
 */
export function tolerateLostStreams(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  // At exit, Node.js resets each terminal, and aborts if a terminal has disappeared. It skips closed descriptors.
  process.on('exit', () => {
    for (const descriptor of terminals) closeSync(descriptor);
  });
}
