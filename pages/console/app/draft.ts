import { useEffect, useState } from 'preact/hooks';

const keyOf = (name: string) => `gatehouse-console-draft-${name}`;

/**
 * What the user has entered and not saved. It is kept until they save or discard it, also if they reload the page or open another screen in
 * this tab.
 * @returns the draft, and functions that change and discard it
 */
export function useDraft<T extends object>(name: string, initial: T): [T, (draft: T) => void, () => void] {
  const key = keyOf(name);
  const read = (): T => {
    try {
      return JSON.parse(sessionStorage.getItem(key) ?? 'null') ?? initial;
    } catch {
      return initial;
    }
  };
  const [draft, setDraft] = useState<T>(read);
  useEffect(() => setDraft(read()), [key]);
  const store = (next: T | undefined) => {
    try {
      if (next === undefined) sessionStorage.removeItem(key);
      else sessionStorage.setItem(key, JSON.stringify(next));
    } catch {
      // Some browsers forbid storage. The draft is then kept only on this screen.
    }
  };
  return [
    draft,
    (next) => {
      store(next);
      setDraft(next);
    },
    () => {
      store(undefined);
      setDraft(initial);
    },
  ];
}
