/** One change of a source file. */
export interface Edit {
  /** From the root of the repository. */
  file: string;
  /** Stands there to the letter, and once. */
  find: string;
  replace: string;
}

/** A fault that was somebody's once, put in here: tests with its advisories in their titles must see it. */
export interface Mutation {
  /** The advisories, as in `docs/advisories.md`. Each must be in the title of a test that fails. */
  ids: readonly string[];
  /** What is wrong then, in a few words. */
  fault: string;
  edits: readonly Edit[];
  /** The sources of the tests that are to fail. */
  tests: readonly string[];
}
