import { useState } from 'preact/hooks';
import type { Query } from '../../api/client.js';
import type { Selection } from '../../components/table.js';

/** Users picked one by one, or all that match a query, except some. */
export type Selected =
  | { kind: 'some'; ids: ReadonlySet<string> }
  | { kind: 'all'; filter: string; search: string; without: ReadonlySet<string> };

const none: Selected = { kind: 'some', ids: new Set() };

const withKeys = (set: ReadonlySet<string>, keys: readonly string[], isIn: boolean): ReadonlySet<string> => {
  const next = new Set(set);
  for (const key of keys) {
    if (isIn) next.add(key);
    else next.delete(key);
  }
  return next;
};

/**
 * The selection of a list. It stays while the user turns pages, and ends when the list shows other users.
 * @param place what the list shows
 */
export function useSelection({ filter, search }: { filter: string; search: string }) {
  const place = `${filter} ${search}`;
  const [state, setState] = useState({ place, selected: none });
  const selected = state.place === place ? state.selected : none;
  const set = (next: Selected) => setState({ place, selected: next });
  const table: Selection = {
    isSelected: (key) => (selected.kind === 'some' ? selected.ids.has(key) : !selected.without.has(key)),
    toggle: (keys, isSelected) =>
      set(
        selected.kind === 'some'
          ? { kind: 'some', ids: withKeys(selected.ids, keys, isSelected) }
          : { ...selected, without: withKeys(selected.without, keys, !isSelected) },
      ),
  };
  return {
    selected,
    table,
    isEmpty: selected.kind === 'some' && selected.ids.size === 0,
    clear: () => set(none),
    selectAll: () => set({ kind: 'all', filter, search, without: new Set() }),
  };
}

/** How many users a request reads or changes: fewer than any limit of the API, and quick even on a busy service. */
export const chunkSize = 100;

/** The queries that read the selected users. Those of a selection of all have a cursor. */
export function queriesOf(selected: Selected): { query: Query; isPaged: boolean }[] {
  if (selected.kind === 'all') {
    const { filter, search, without } = selected;
    const conditions = [
      ...(filter === '' ? [] : [JSON.parse(filter)]),
      ...(without.size === 0 ? [] : [{ id: { _nin: [...without] } }]),
    ];
    return [{ query: { ...(conditions.length > 0 ? { filter: { _and: conditions } } : {}), search }, isPaged: true }];
  }
  const ids = [...selected.ids];
  return Array.from({ length: Math.ceil(ids.length / chunkSize) }, (_, index) => ({
    query: { filter: { id: { _in: ids.slice(index * chunkSize, (index + 1) * chunkSize) } } },
    isPaged: false,
  }));
}
