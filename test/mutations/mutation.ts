import type { Code } from '../helpers/project/code-search.js';

/** One change of a source file. The code to replace must occur exactly once. */
export interface Edit extends Code {
  replace: string;
}

export type Engine = 'embedded' | 'postgres';

/** A known fault, usually from another project. Applied here, it must fail the tests that name its advisories. */
export interface Mutation {
  /**
   * The advisories, as in `docs/advisories.md`. Each must be in the title of a test that fails. If a fault has no advisory,
   * this is empty, and any test of the files in `tests` must fail.
   */
  ids: readonly string[];
  /** The faulty behavior, in a few words. */
  fault: string;
  edits: readonly Edit[];
  /** The source files of the tests that must fail. */
  tests: readonly string[];
  /** The engine on which the tests must fail. Default: embedded. */
  engine?: Engine;
}
