import { definePlugin } from './plugin.js';

/** Returns the current time. Tests use a clock that they can move. */
export type Clock = () => Date;

export const systemClock: Clock = () => new Date();

/** How many milliseconds a clock is ahead of the system clock. This is 0 unless a test has moved the clock. */
export const clockOffset = (clock: Clock): number => clock().getTime() - Date.now();

/** Seconds since 1970, which is how JWTs express times (RFC 7519, NumericDate). */
export const toNumericDate = (moment: Date): number => Math.floor(moment.getTime() / 1000);

declare module './plugin.js' {
  interface Services {
    clock: Clock;
  }
}

/** `app.clock`: the only source of the current time. */
export const clockPlugin = definePlugin<{ clock: Clock }>('platform/clock', (_services, _app, { clock }) => ({
  clock,
}));
