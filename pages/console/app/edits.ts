import { toast } from '../components/toast.js';
import { fieldText, Noticed, t } from '../texts.js';
import { useDraft } from './draft.js';

export type Values = Readonly<Record<string, unknown>>;

interface Edits {
  /** The value of a field, as the user has changed it or as it is stored. */
  valueOf(name: string): unknown;
  set(name: string, value: unknown): void;
  hasChanges: boolean;
  /**
   * Sends what has changed, reports it, and offers to take it back.
   * @throws {Noticed} if someone else has changed the same fields since the user did. The next attempt replaces their values
   */
  save(): Promise<void>;
  discard(): void;
}

interface Options {
  /** Reads the item again. @returns undefined if it cannot be read */
  reread: () => Promise<Values | undefined>;
  /** Stores values, and reads the item again. */
  send: (values: Values) => Promise<unknown>;
  /** What to report. @param values what was stored */
  saved: (values: Values) => string;
}

interface Draft {
  values: Values;
  /** What was stored when the user first changed the field. */
  before: Values;
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
const valueIn = (item: Values, name: string): unknown => item[name] ?? null;
const pick = (item: Values, names: readonly string[]): Values =>
  Object.fromEntries(names.map((name) => [name, valueIn(item, name)]));
const without = (item: Values, names: readonly string[]): Values =>
  Object.fromEntries(Object.entries(item).filter(([name]) => !names.includes(name)));

/**
 * The changes that the user makes to stored values.
 * @param name identifies the draft in which they are kept until they are saved
 */
export function useEdits(name: string, stored: Values, { reread, send, saved }: Options): Edits {
  const [draft, enter, discard] = useDraft<Draft>(`edits-${name}`, { values: {}, before: {} });
  const changes = Object.fromEntries(
    Object.entries(draft.values).filter(([field, value]) => !isSame(value, valueIn(stored, field))),
  );
  return {
    valueOf: (field) => (field in draft.values ? draft.values[field] : valueIn(stored, field)),
    set: (field, value) =>
      enter(({ values, before }) => ({
        values: { ...values, [field]: value },
        before: field in before ? before : { ...before, [field]: valueIn(stored, field) },
      })),
    hasChanges: Object.keys(changes).length > 0,
    save: async () => {
      const names = Object.keys(changes);
      const current = pick((await reread()) ?? stored, names);
      const overtaken = names.filter(
        (field) => !isSame(current[field], draft.before[field]) && !isSame(current[field], changes[field]),
      );
      if (overtaken.length > 0) {
        enter(({ before }) => ({ before: { ...before, ...pick(current, overtaken) } }));
        throw new Noticed(t('edits_overtaken', { fields: overtaken.map(fieldText).join(', ') }));
      }
      await send(changes);
      // What the user has changed during the request is not saved yet.
      enter(({ values, before }) => {
        const unchanged = Object.keys(draft.values).filter((field) => isSame(values[field], draft.values[field]));
        return { values: without(values, unchanged), before: without(before, unchanged) };
      });
      toast(saved(changes), { undo: () => send(current) });
    },
    discard: () => discard(),
  };
}
