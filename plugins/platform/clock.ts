import plugin from 'fastify-plugin';

/** Tells the time; tests bring one that they can move. */
export type Clock = () => Date;

export const systemClock: Clock = () => new Date();

/** By how many milliseconds a clock is ahead of the machine's: 0, unless a test has moved it. */
export const shiftOf = (clock: Clock): number => clock().getTime() - Date.now();

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
