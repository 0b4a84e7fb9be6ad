/** One change of a source file. */
export interface Edit {
  /** From the root of the repository. */
  file: string;
  /** Stands there to the letter, and once. */
  find: string;
  replace: string;
}

export type Engine = 'embedded' | 'postgres';

/** A fault that was somebody's once, put in here: tests with its advisories in their titles must see it. */
export interface Mutation {
  /**
   * The advisories, as in `docs/advisories.md`. Each must be in the title of a test that fails. Empty for a fault without an
   * advisory: then any test of the files below must fail.
   */
  ids: readonly string[];
  /** What is wrong then, in a few words. */
  fault: string;
  edits: readonly Edit[];
  /** The sources of the tests that are to fail. */
  tests: readonly string[];
  /** On which engine they fail; unless it is given, the embedded one. */
  engine?: Engine;
}
