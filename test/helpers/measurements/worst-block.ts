import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { slowness } from './slowness.js';

/**
 * Measures the longest time for which the event loop is blocked during some work, in milliseconds on a machine of usual
 * speed. Excludes time that the processor spends on other processes or on other threads of this process.
 */
export async function worstBlock<T>(work: () => Promise<T>): Promise<[result: T, milliseconds: number]> {
  const slownessBefore = slowness();
  let cpu = threadTime();
  let clock = performance.now();
  let worst = 0;
  const turn = () => {
    const [cpuNow, clockNow] = [threadTime(), performance.now()];
    worst = Math.max(worst, Math.min(cpuNow - cpu, clockNow - clock));
    cpu = cpuNow;
    clock = clockNow;
  };
  const turns = setInterval(turn, 1);
  const result = await work();
  // The last block is measured only on the next iteration of the loop.
  await sleep(20);
  clearInterval(turns);
  return [result, worst / Math.max(slownessBefore, slowness())];
}

/** Linux records the CPU time of each thread here, in nanoseconds (proc(5)). */
const threadTimes = '/proc/thread-self/schedstat';
const hasThreadTimes = existsSync(threadTimes);

/** The CPU time of this thread in milliseconds, or, where the system does not report it, of the whole process. */
export function threadTime(): number {
  if (hasThreadTimes) return Number(readFileSync(threadTimes, 'utf8').split(' ', 1)[0]) / 1e6;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
