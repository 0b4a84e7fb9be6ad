import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { t } from '../texts.js';
import { Icon } from './icon.js';
import { useLater } from './picker.js';

interface Props {
  label: string;
  value: string;
  /** Called with what the user has typed, without spaces around it, after a short pause. */
  onSearch: (search: string) => void;
}

/** The search field of a list. `/` focuses it. */
export function SearchField({ label, value, onSearch }: Props) {
  const [typed, setTyped] = useState(value);
  const later = useLater(typed.trim());
  useLayoutEffect(() => {
    if (later !== value) onSearch(later);
  }, [later]);
  useEffect(() => {
    // The back button has changed it.
    if (value !== typed.trim() && value !== later) setTyped(value);
  }, [value]);
  return (
    <label class="search-field">
      <Icon name="search" />
      <span class="visually-hidden">{label}</span>
      <input
        type="search"
        data-search
        autocomplete="off"
        spellcheck={false}
        placeholder={t('search_placeholder')}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </label>
  );
}
