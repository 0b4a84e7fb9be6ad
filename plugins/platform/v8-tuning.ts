import { setFlagsFromString } from 'node:v8';

/**
 * Loading runs a great deal of code once, and V8 takes that for a busy service: it gives young objects 32 MB and never takes them
 * back, its threads get memory to optimize what hardly ever runs again, and garbage stays, as nothing happens that would make
 * room necessary. Imported before all else, this keeps it from the first two until {@link settleMemory}; Node.js 20 to 26
 * read these flags whenever they come to it.
 */
const [whileLoading, afterwards] = [
  ['--semi-space-growth-factor=1', '--no-opt'],
  ['--semi-space-growth-factor=2', '--opt'],
];
const set = (flags: readonly string[]) => {
  for (const flag of flags) setFlagsFromString(flag);
};

set(whileLoading);

/** All is loaded: clears away what was left behind, which takes a tenth of a second, and lets V8 do as it does by default. */
export async function settleMemory(): Promise<void> {
  try {
    const { Session } = await import('node:inspector/promises');
    const session = new Session();
    session.connect();
    // Unlike `gc()`, it gives back what it has emptied.
    await session.post('HeapProfiler.collectGarbage');
    session.disconnect();
  } finally {
    set(afterwards);
  }
}
