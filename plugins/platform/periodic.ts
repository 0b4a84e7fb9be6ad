import plugin from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyInstance {
    /** Does `work` again and again until the app is closed. When it fails, `failure` is logged, and it is tried again in time. */
    every(milliseconds: number, work: () => Promise<void>, failure: string): void;
  }
}

export const hour = 3_600_000;

/** `app.every`: clearing away and the like, on which nothing depends. */
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
