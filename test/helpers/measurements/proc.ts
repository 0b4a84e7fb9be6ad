import { readFileSync } from 'node:fs';

/** Information about processes from `/proc` (proc(5)). */

/** The current and peak resident memory in MB. @throws if there is no such process or no `/proc` */
export function memoryOf(pid: number): { now: number; highest: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const megabytes = (name: string) => Number(status.match(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm'))?.[1]) / 1024;
  return { now: megabytes('VmRSS'), highest: megabytes('VmHWM') };
}

/** The processor time that a process has used, in seconds. @throws if there is no such process or no `/proc` */
export function processorTime(pid: number): number {
  // The second field is the program name, which can contain any character and ends with the last parenthesis.
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
  const ticksASecond = 100;
  return (Number(fields[11]) + Number(fields[12])) / ticksASecond;
}

/** The running child processes of a process. @throws if there is no such process or no `/proc` */
export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').filter(Boolean).map(Number);
}
