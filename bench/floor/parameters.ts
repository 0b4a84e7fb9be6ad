import type { Sent } from '../statements.js';

/** The values that were used in the parameters of the recorded request, or the values that replace them. */
export interface Standing {
  session: string;
  user?: string;
  /** Hash of the token that was presented. */
  tokenHash?: string;
  generation?: number;
  /** Milliseconds since 1970. */
  time: number;
}

const [hash, moment] = [/^[0-9a-f]{64}$/, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/];

/** The parameters of a recorded statement for another caller at another time. @param nextHash hash of the next refresh token */
export function parametersFor({ parameters }: Sent, was: Standing, is: Standing, nextHash?: string): unknown[] {
  return parameters.map((value) => {
    if (value === was.session) return is.session;
    if (was.user !== undefined && value === was.user) return is.user;
    if (value === `{${was.session}}`) return `{${is.session}}`;
    if (typeof value === 'number' && was.generation !== undefined && is.generation !== undefined) {
      return value - was.generation + is.generation;
    }
    if (typeof value !== 'string') return value;
    if (hash.test(value)) return value === was.tokenHash ? is.tokenHash : (nextHash ?? value);
    return moment.test(value) ? new Date(Date.parse(value) - was.time + is.time).toISOString() : value;
  });
}
