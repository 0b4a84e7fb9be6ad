import { useRef, useState } from 'preact/hooks';
import type { Field } from '../model/fields.js';
import { fieldText, t } from '../texts.js';
import { CheckField, TextField } from './field.js';
import { Icon } from './icon.js';
import { Popover } from './popover.js';

interface Props {
  /** The fields that a column can show. */
  fields: readonly Field[];
  /** The names of the columns, in their order. */
  chosen: readonly string[];
  /** @param chosen undefined: the usual columns */
  onChange: (chosen: readonly string[] | undefined) => void;
}

/** More fields than this can be searched. */
const manyFields = 10;

/** Chooses the columns of a table. */
export function ColumnPicker({ fields, chosen, onChange }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const [search, setSearch] = useState('');
  const button = useRef<HTMLButtonElement>(null);
  const wanted = search.trim().toLowerCase();
  const shown = fields.filter(({ name }) => fieldText(name).toLowerCase().includes(wanted));
  return (
    <>
      <button
        ref={button}
        type="button"
        class="secondary small icon-only"
        aria-label={t('columns')}
        title={t('columns')}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        <Icon name="columns" />
      </button>
      {isOpen && (
        <Popover label={t('columns')} anchor={button} onClose={() => setIsOpen(false)}>
          {fields.length > manyFields && (
            <TextField
              label={t('filter_field')}
              isLabelHidden
              placeholder={t('filter_field')}
              value={search}
              onInput={setSearch}
            />
          )}
          <div class="popover-list">
            {shown.map(({ name }) => (
              <CheckField
                key={name}
                label={fieldText(name)}
                checked={chosen.includes(name)}
                onChange={(isChecked) =>
                  onChange(isChecked ? [...chosen, name] : chosen.filter((column) => column !== name))
                }
              />
            ))}
            {shown.length === 0 && <p class="hint">{t('search_nothing')}</p>}
          </div>
          <div class="buttons">
            <button type="button" class="quiet small" onClick={() => onChange(undefined)}>
              {t('columns_reset')}
            </button>
          </div>
        </Popover>
      )}
    </>
  );
}
