import plugin from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyInstance {
    /** Repeats `work` at this interval until the app is closed. If it fails, `failure` is logged, and the next run tries again. */
    every(milliseconds: number, work: () => Promise<void>, failure: string): void;
  }
}

export const hour = 3_600_000;

/** `app.every`: periodic tasks that no request depends on, such as deleting expired rows. */
export const periodicPlugin = plugin(
  async (app) => {
    app.decorate('every', (milliseconds, work, failure) => {
      const timer = setInterval(() => {
        work().catch((error: unknown) => app.log.warn(error, failure));
      }, milliseconds).unref();
      app.addHook('onClose', async () => clearInterval(timer));
    });
  },
  { name: 'periodic' },
);
