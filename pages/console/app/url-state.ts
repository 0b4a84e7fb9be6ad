import { useSearchParams } from 'wouter-preact';

/**
 * The state of a screen, which is in its URL, so that it has a deep link, and the back button works.
 * @returns the parameters, and a function that changes some of them; undefined or an empty text removes one
 */
export function useUrlState<K extends string>(): [
  Partial<Record<K, string>>,
  (changes: Partial<Record<K, string | undefined>>, options?: { replace?: boolean }) => void,
] {
  const [params, setParams] = useSearchParams();
  const state = Object.fromEntries(params) as Partial<Record<K, string>>;
  const change = (changes: Partial<Record<K, string | undefined>>, options: { replace?: boolean } = {}) =>
    setParams((previous) => {
      const next = new URLSearchParams(previous);
      for (const [name, value] of Object.entries<string | undefined>(changes)) {
        if (value === undefined || value === '') next.delete(name);
        else next.set(name, value);
      }
      return next;
    }, options);
  return [state, change];
}
