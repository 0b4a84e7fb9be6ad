import { useLayoutEffect, useState } from 'preact/hooks';
import type { PathWith } from '../api/types.js';
import { useApi } from '../api/use-api.js';
import { useUserSearch } from '../api/use-user-search.js';
import { failureMessage, t } from '../texts.js';
import { Button } from './button.js';
import { Combobox } from './combobox.js';
import { fullName } from './person.js';

/** Milliseconds without typing before the server is asked. */
const pauseMs = 50;
const maxSuggestions = 20;

const kinds = {
  roles: { path: '/roles', fields: 'id,name,description', sort: 'name' },
  policies: { path: '/policies', fields: 'id,name,description', sort: 'name' },
  clients: { path: '/clients', fields: 'id,name', sort: 'name' },
} as const satisfies Record<string, { path: PathWith<'get'>; fields: string; sort?: string }>;

export type Picked = { id: string; name: string; detail?: string | undefined };
export type PickedKind = 'users' | keyof typeof kinds;

interface Found {
  id: string;
  name?: string | null;
  description?: string | null;
  first_name?: string | null;
  last_name?: string | null;
  email?: string | null;
}

const asPicked = (found: Found): Picked => {
  const name = found.name ?? fullName(found) ?? found.email ?? found.id;
  const detail = found.description ?? (found.email === name ? undefined : found.email);
  return { id: found.id, name, detail: detail ?? undefined };
};

/** A value that follows another one after a pause. */
export function useLater<T>(value: T, delayMs = pauseMs): T {
  const [later, setLater] = useState(value);
  // With `useEffect`, the pause would begin only after the next frame.
  useLayoutEffect(() => {
    const timer = setTimeout(() => setLater(value), delayMs);
    return () => clearTimeout(timer);
  }, [value, delayMs]);
  return later;
}

interface SearchProps {
  kind: PickedKind;
  label: string;
  isLabelHidden?: boolean;
  placeholder?: string;
  /** What is not offered, because it is picked already. */
  without?: readonly string[];
  onPick: (picked: Picked) => void;
  hint?: string;
}

/** Searches the server for items, and never only those that the console has loaded. */
export function Search({ kind, label, isLabelHidden = false, placeholder, without = [], onPick, hint }: SearchProps) {
  const [search, setSearch] = useState('');
  const wanted = useLater(search.trim());
  const limit = maxSuggestions + without.length;
  const users = useUserSearch(kind === 'users' ? wanted : undefined, limit);
  const { path, ...listed } = kind === 'users' ? { path: undefined } : kinds[kind];
  const others = useApi(path, { query: { search: wanted, ...listed, limit } });
  const { isLoading, failure } = kind === 'users' ? users : others;
  // After a failure, the last response is that of another search.
  const found = ((failure ? [] : ((kind === 'users' ? users.data : others.data?.data) ?? [])) as Found[])
    .map(asPicked)
    .filter(({ id }) => !without.includes(id));
  return (
    <Combobox
      label={label}
      isLabelHidden={isLabelHidden}
      placeholder={placeholder ?? t('search_placeholder')}
      search={search}
      onSearch={setSearch}
      options={found}
      isLoading={isLoading || wanted !== search.trim()}
      optionKey={({ id }) => id}
      draw={({ name, detail }) => (
        <>
          <span>{name}</span>
          {detail && <span class="hint">{detail}</span>}
        </>
      )}
      onPick={(picked) => {
        setSearch('');
        onPick(picked);
      }}
      nothing={failure ? failureMessage(failure) : t('search_nothing')}
      hint={hint}
    />
  );
}

interface PickerProps extends Omit<SearchProps, 'onPick' | 'without'> {
  value: Picked | undefined;
  onChange: (value: Picked | undefined) => void;
}

/** A field for one item, such as the role of a user. */
export function Picker({ value, onChange, ...search }: PickerProps) {
  return (
    <div class="field">
      {value ? (
        <>
          <span class={search.isLabelHidden ? 'visually-hidden' : 'label'}>{search.label}</span>
          <span class="chip">
            {value.name}
            <Button
              kind="quiet"
              icon="close"
              label={t('remove_named', { name: value.name })}
              onPress={() => onChange(undefined)}
            />
          </span>
        </>
      ) : (
        <Search {...search} onPick={onChange} />
      )}
    </div>
  );
}

interface ManyProps extends Omit<SearchProps, 'onPick' | 'without'> {
  value: readonly Picked[];
  onChange: (value: readonly Picked[]) => void;
}

/** A field for several items, such as the policies of a role. */
export function ManyPicker({ value, onChange, ...search }: ManyProps) {
  return (
    <div class="field">
      <Search {...search} without={value.map(({ id }) => id)} onPick={(picked) => onChange([...value, picked])} />
      {value.length > 0 && (
        <ul class="chips" aria-label={search.label}>
          {value.map((one) => (
            <li class="chip" key={one.id}>
              {one.name}
              <Button
                kind="quiet"
                icon="close"
                label={t('remove_named', { name: one.name })}
                onPress={() => onChange(value.filter(({ id }) => id !== one.id))}
              />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
