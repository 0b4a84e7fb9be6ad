import { setTimeout as sleep } from 'node:timers/promises';
import { slowness } from './slowness.js';

/**
 * Measures the longest time for which the event loop is blocked during some work, in milliseconds on a machine of usual
 * speed. Excludes time that the processor spends on other processes or on other threads of this process.
 */
export async function worstBlock<T>(work: () => Promise<T>): Promise<[result: T, milliseconds: number]> {
  const slownessBefore = slowness();
  let cpu = process.cpuUsage();
  let clock = performance.now();
  let worst = 0;
  const turn = () => {
    const { user, system } = process.cpuUsage(cpu);
    worst = Math.max(worst, Math.min((user + system) / 1000, performance.now() - clock));
    cpu = process.cpuUsage();
    clock = performance.now();
  };
  const turns = setInterval(turn, 1);
  const result = await work();
  // The last block is measured only on the next iteration of the loop.
  await sleep(20);
  clearInterval(turns);
  return [result, worst / Math.max(slownessBefore, slowness())];
}
