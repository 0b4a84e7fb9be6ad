import plugin from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyInstance {
    /** Does `work` every hour until the app is closed. When it fails, `failure` is logged, and it is tried again in an hour. */
    hourly(work: () => Promise<void>, failure: string): void;
  }
}

const hour = 3_600_000;

/** `app.hourly`: clearing away, on which nothing depends. */
export const hourlyPlugin = plugin(
  async (app) => {
    app.decorate('hourly', (work, failure) => {
      const timer = setInterval(() => {
        work().catch((error: unknown) => app.log.warn(error, failure));
      }, hour).unref();
      app.addHook('onClose', async () => clearInterval(timer));
    });
  },
  { name: 'hourly' },
);
