import { setTimeout as sleep } from 'node:timers/promises';
import { slowness } from './slowness.js';

/**
 * The longest time that the event loop was blocked during some work, in milliseconds. Excludes the time that the
 * processor spent on other processes, and the work of other threads of this process.
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
  // The last block is measured when the loop turns again.
  await sleep(20);
  clearInterval(turns);
  return [result, worst / Math.max(slownessBefore, slowness())];
}
