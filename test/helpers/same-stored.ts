import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';

/** As `t.strictSame`, which takes long over many rows even when they are the same. */
export function sameStored(t: Test, found: unknown, wanted: unknown, what: string): void {
  if (isDeepStrictEqual(found, wanted)) t.pass(what);
  else t.strictSame(found, wanted, what);
}
