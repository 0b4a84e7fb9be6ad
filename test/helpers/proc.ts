import { readFileSync } from 'node:fs';

/** What `/proc` tells of processes (proc(5)). */

/** Resident memory in MB, now and at its highest. @throws when there is no such process, or no `/proc` */
export function memoryOf(pid: number): { now: number; highest: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const megabytes = (name: string) => Number(status.match(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm'))?.[1]) / 1024;
  return { now: megabytes('VmRSS'), highest: megabytes('VmHWM') };
}

/** Seconds of a processor that a process has had so far. @throws when there is no such process, or no `/proc` */
export function processorTime(pid: number): number {
  // The name of the program, which comes second and may hold anything, ends with the last parenthesis.
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
  const ticksASecond = 100;
  return (Number(fields[11]) + Number(fields[12])) / ticksASecond;
}

/** Those that a process has started itself, and that are still there. @throws when there is no such process, or no `/proc` */
export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').filter(Boolean).map(Number);
}
