import { useEffect, useRef, useState } from 'preact/hooks';
import { useAccess } from './access.js';

const prefix = 'gatehouse-console-draft-';
const prefixOf = (user: string) => `${prefix}${user}-`;

/** Deletes the drafts of all other users from this tab. */
export function forgetDraftsOfOthers(user: string): void {
  try {
    for (const key of Object.keys(sessionStorage))
      if (key.startsWith(prefix) && !key.startsWith(prefixOf(user))) sessionStorage.removeItem(key);
  } catch {
    // Some browsers forbid storage, and then there are no drafts.
  }
}

/** @param entered what changes, or a function that finds it in the latest draft, which the user may have changed during a request */
type Enter<T> = (entered: Partial<T> | ((latest: T) => Partial<T>)) => void;

/**
 * What the user has entered and not saved. It is kept until they save or discard it, also if they reload the page or open another screen in
 * this tab. It belongs to them: nobody else who signs in there gets it.
 * @returns the draft, a function that changes it, and one that discards it and then continues, for example by closing the form
 */
export function useDraft<T extends object>(name: string, initial: T): [T, Enter<T>, (then?: () => void) => void] {
  const key = prefixOf(useAccess().me.id) + name;
  const read = (): T => {
    try {
      return JSON.parse(sessionStorage.getItem(key) ?? 'null') ?? initial;
    } catch {
      return initial;
    }
  };
  const [draft, setDraft] = useState<T>(read);
  const latest = useRef(draft);
  const show = (next: T) => {
    latest.current = next;
    setDraft(next);
  };
  useEffect(() => show(read()), [key]);
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
    (entered) => {
      const next = { ...latest.current, ...(typeof entered === 'function' ? entered(latest.current) : entered) };
      store(next);
      show(next);
    },
    (then) => {
      store(undefined);
      show(initial);
      then?.();
    },
  ];
}
