import { availableParallelism, cpus } from 'node:os';

/** The machine and the time of a measurement. */
export const describeMachine = () => ({
  node: process.version,
  processors: availableParallelism(),
  model: cpus()[0]?.model ?? 'unknown',
  at: new Date().toISOString(),
});
