import { useSearchParams } from 'wouter-preact';

interface ChangeOptions {
  /** Whether the back button skips the current state. */
  replace?: boolean;
  /** What the browser remembers with the URL. */
  state?: unknown;
}

/** What says which page of a list is shown. Any other change of the state leads back to the first page. */
const pageParameters = ['cursor', 'page'];
/** What says which form is open in front of a list. */
const formParameter = 'new';

/**
 * The state of a screen, which is in its URL, so that it has a deep link, and the back button works.
 * @returns the parameters, and a function that changes some of them; undefined or an empty text removes one
 */
export function useUrlState<K extends string>(): [
  Partial<Record<K, string>>,
  (changes: Partial<Record<K, string | undefined>>, options?: ChangeOptions) => void,
] {
  const [params, setParams] = useSearchParams();
  const state = Object.fromEntries(params) as Partial<Record<K, string>>;
  const change = (changes: Partial<Record<K, string | undefined>>, options: ChangeOptions = {}) =>
    setParams((previous) => {
      const next = new URLSearchParams(previous);
      if (Object.keys(changes).some((name) => name !== formParameter))
        for (const name of pageParameters) next.delete(name);
      for (const [name, value] of Object.entries<string | undefined>(changes)) {
        if (value === undefined || value === '') next.delete(name);
        else next.set(name, value);
      }
      return next;
    }, options);
  return [state, change];
}
