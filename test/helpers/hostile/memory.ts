import { readFileSync } from 'node:fs';
import { median } from '../statistics.js';

/** The resident memory of a process in MB. */
export function residentMemory(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

/** Seconds of the processor that a process has used so far. */
export function processorTime(pid: number): number {
  // The name of the program, which comes second and may hold anything, ends with the last parenthesis.
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
  const ticksASecond = 100;
  return (Number(fields[11]) + Number(fields[12])) / ticksASecond;
}

export interface MemorySample {
  requests: number;
  megabytes: number;
}

/** How memory grew after the first part of the requests, which is for warming up: from the median of one part to that of the last. */
export function memoryGrowth(samples: readonly MemorySample[], total: number) {
  const between = (from: number, to: number) =>
    median(
      samples
        .filter(({ requests }) => requests >= from * total && requests <= to * total)
        .map(({ megabytes }) => megabytes),
    );
  const [before, after] = [between(0.25, 0.4), between(0.85, 1)];
  return { before, after, growth: after - before, most: Math.max(...samples.map(({ megabytes }) => megabytes)) };
}
