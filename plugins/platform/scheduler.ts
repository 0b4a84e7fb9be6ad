import { setTimeout as sleep } from 'node:timers/promises';
import { definePlugin, type Services } from './plugin.js';

declare module './plugin.js' {
  interface Services {
    /**
     * Repeats `work` from the time the service starts listening until it is closed. Runs never overlap.
     * @param interval from the end of one run to the start of the next, in milliseconds
     * @param failureMessage logged for the first of several failures in a row. The next run tries again.
     */
    every(interval: number, work: () => Promise<unknown>, failureMessage: string, level?: 'warn' | 'error'): void;
  }
}

export const hour = 3_600_000;

/** How long closing waits for all current runs together, in milliseconds. They may wait for a database that does not respond. */
const maxWait = 3_000;

/** `app.every`: tasks that no request depends on, such as deleting expired rows. */
export const schedulerPlugin = definePlugin('platform/scheduler', (_services, app) => {
  let waited: Promise<void> | undefined;

  const every: Services['every'] = (interval, work, failure, level = 'warn') => {
    let timer: NodeJS.Timeout | undefined;
    let current: Promise<void> | undefined;
    let isFailing = false;
    let isStopped = false;

    const run = async () => {
      try {
        await work();
        isFailing = false;
      } catch (error) {
        if (!isFailing) app.log[level](error, failure);
        isFailing = true;
      }
      schedule();
    };
    const schedule = () => {
      if (isStopped) return;
      timer = setTimeout(() => {
        current = run();
      }, interval).unref();
    };

    app.addHook('onListen', async () => schedule());
    // `onClose` hooks run in reverse order, so the dependencies of the work, which were registered earlier, are still open.
    app.addHook('onClose', async () => {
      isStopped = true;
      clearTimeout(timer);
      waited ??= sleep(maxWait, undefined, { ref: false });
      await Promise.race([current, waited]);
    });
  };
  return { every };
});
