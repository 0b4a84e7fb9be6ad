import { useState } from 'preact/hooks';
import { fieldText, t } from '../../texts.js';
import { Button } from '../button.js';
import { Combobox } from '../combobox.js';

interface Props {
  /** The fields to which the rule can apply. */
  known: readonly string[];
  value: readonly string[] | null;
  onChange: (fields: readonly string[]) => void;
  fault?: string | undefined;
}

/** The fields of a rule: all of them, or those that are picked. */
export function FieldsEditor({ known, value, onChange, fault }: Props) {
  const [search, setSearch] = useState('');
  const fields = value ?? [];
  const isAll = fields.includes('*');
  const wanted = search.trim().toLowerCase();
  const offered = known.filter(
    (name) => !fields.includes(name) && (fieldText(name).toLowerCase().includes(wanted) || name.includes(wanted)),
  );
  return (
    <fieldset class="conditions">
      <legend class="label">{t('rule_fields_label')}</legend>
      <div class="segments">
        <label>
          <input type="radio" checked={isAll} onChange={() => onChange(['*'])} />
          <span>{t('rule_fields_all')}</span>
        </label>
        <label>
          <input type="radio" checked={!isAll} onChange={() => onChange(fields.filter((name) => name !== '*'))} />
          <span>{t('rule_fields_some')}</span>
        </label>
      </div>
      {isAll ? (
        <p class="hint">{t('rule_fields_all_hint')}</p>
      ) : (
        <>
          <Combobox
            label={t('rule_fields_add')}
            isLabelHidden
            placeholder={t('rule_fields_add')}
            search={search}
            onSearch={setSearch}
            options={offered}
            optionKey={(name) => name}
            draw={(name) => (
              <>
                <span>{fieldText(name)}</span>
                <code class="hint">{name}</code>
              </>
            )}
            onPick={(name) => {
              setSearch('');
              onChange([...fields, name]);
            }}
            nothing={t('search_nothing')}
          />
          <ul class="chips" aria-label={t('rule_fields_label')}>
            {fields.map((name) => (
              <li class="chip" key={name}>
                {fieldText(name)}
                <Button
                  kind="quiet"
                  icon="close"
                  label={t('remove_named', { name: fieldText(name) })}
                  onPress={() => onChange(fields.filter((one) => one !== name))}
                />
              </li>
            ))}
          </ul>
        </>
      )}
      <p class="fault" role="alert">
        {fault}
      </p>
    </fieldset>
  );
}
