import type { Clock } from '../../../plugins/platform/clock.js';

/** A clock that runs normally and can also be moved forward. */
export interface TestClock {
  now: Clock;
  advance(ms: number): void;
}

export function createTestClock(): TestClock {
  let offset = 0;
  return {
    now: () => new Date(Date.now() + offset),
    advance: (ms) => {
      offset += ms;
    },
  };
}

export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;
