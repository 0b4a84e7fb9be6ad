import plugin from 'fastify-plugin';

/** Tells the time; tests bring one that they can move. */
export type Clock = () => Date;

export const systemClock: Clock = () => new Date();

declare module 'fastify' {
  interface FastifyInstance {
    clock: Clock;
  }
}

/** `app.clock`: the one source of the present time. */
export const clockPlugin = plugin<{ clock: Clock }>(
  async (app, { clock }) => {
    app.decorate('clock', clock);
  },
  { name: 'clock' },
);
