import type { FilledDatabase } from './database.js';
import type { Throughput } from './load.js';
import { processorTimes, type Server, timeBetween } from './processes.js';
import { median } from './statistics.js';

/** Processor time of one request, in milliseconds. On the embedded engine, the server includes the database. */
export interface ProcessorTime {
  server: number;
  database: number;
}

/** Runs a measurement. @returns what it has achieved, and the processor time of each of its requests */
export async function withProcessorTime(
  { pid }: Pick<Server, 'pid'>,
  database: Pick<FilledDatabase, 'backends'>,
  measure: () => Promise<Throughput>,
): Promise<Throughput & { processor: ProcessorTime }> {
  const read = async () => ({ server: processorTimes([pid]), database: processorTimes(await database.backends()) });
  const before = await read();
  const { count, rate } = await measure();
  const after = await read();
  const each = (part: keyof ProcessorTime) => (timeBetween(before[part], after[part]) * 1_000) / count;
  return { count, rate, processor: { server: each('server'), database: each('database') } };
}

/** The median of each part. */
export const medianTime = (times: readonly ProcessorTime[]): ProcessorTime => ({
  server: median(times.map(({ server }) => server)),
  database: median(times.map(({ database }) => database)),
});
