import { toast } from '../components/toast.js';
import { useDraft } from './draft.js';

export type Values = Readonly<Record<string, unknown>>;

interface Edits {
  /** The value of a field, as the user has changed it or as it is stored. */
  valueOf(name: string): unknown;
  set(name: string, value: unknown): void;
  hasChanges: boolean;
  /** Sends what has changed, reports it, and offers to take it back. */
  save(): Promise<void>;
  discard(): void;
}

/**
 * The changes that the user makes to stored values.
 * @param name identifies the draft in which they are kept until they are saved
 * @param send stores values, and reads the item again
 * @param saved what to report
 */
export function useEdits(
  name: string,
  stored: Values,
  send: (values: Values) => Promise<unknown>,
  saved: string,
): Edits {
  const [draft, enter, discard] = useDraft<Values>(name, {});
  const storedValue = (field: string) => stored[field] ?? null;
  const changes = Object.fromEntries(
    Object.entries(draft).filter(
      ([field, value]) => value !== undefined && JSON.stringify(value) !== JSON.stringify(storedValue(field)),
    ),
  );
  return {
    valueOf: (field) => (draft[field] === undefined ? storedValue(field) : draft[field]),
    set: (field, value) => enter({ [field]: value }),
    hasChanges: Object.keys(changes).length > 0,
    save: async () => {
      const before = Object.fromEntries(Object.keys(changes).map((field) => [field, storedValue(field)]));
      await send(changes);
      // What the user has changed during the request is not saved yet.
      enter((latest) => {
        const unchanged = Object.keys(draft).filter((field) => latest[field] === draft[field]);
        return Object.fromEntries(unchanged.map((field) => [field, undefined]));
      });
      toast(saved, { undo: () => send(before) });
    },
    discard: () => discard(),
  };
}
