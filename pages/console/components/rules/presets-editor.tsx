import { choiceText, fieldText, t } from '../../texts.js';
import { Button } from '../button.js';
import { SelectField, TextField } from '../field.js';
import { Picker } from '../picker.js';
import { fieldAt } from './conditions.js';
import type { NameOfId } from './names.js';
import { type Filter, fieldNames } from './rule.js';

interface Props {
  collection: string;
  value: Filter | null;
  onChange: (presets: Filter | null) => void;
  nameOfId: NameOfId;
}

/** The values of new items for the fields that a request leaves out. */
export function PresetsEditor({ collection, value, onChange, nameOfId }: Props) {
  const presets = value ?? {};
  // Presets are stored in plain text, so secrets have no place there.
  const offered = fieldNames(collection, 'create').filter(
    (name) => !(name in presets) && !['id', 'password', 'token', 'email'].includes(name),
  );
  const set = (next: Filter) => onChange(Object.keys(next).length > 0 ? next : null);
  const without = (name: string) => Object.fromEntries(Object.entries(presets).filter(([key]) => key !== name));
  return (
    <fieldset class="conditions">
      <legend class="label">{t('rule_presets')}</legend>
      <p class="hint">{t('rule_presets_hint')}</p>
      {Object.entries(presets).map(([name, preset]) => (
        <div class="condition" key={name}>
          <PresetValue
            {...{ collection, name, nameOfId }}
            value={preset}
            onChange={(next) => set({ ...presets, [name]: next })}
          />
          <Button
            kind="quiet"
            icon="trash"
            label={t('remove_named', { name: fieldText(name) })}
            onPress={() => set(without(name))}
          />
        </div>
      ))}
      {offered.length > 0 && (
        <SelectField
          label={t('rule_presets_add')}
          isLabelHidden
          value=""
          options={[
            { value: '', text: t('rule_presets_add') },
            ...offered.map((name) => ({ value: name, text: fieldText(name) })),
          ]}
          onChange={(name) => name && set({ ...presets, [name]: fieldAt(collection, name)?.choices?.[0] ?? '' })}
        />
      )}
    </fieldset>
  );
}

interface ValueProps {
  collection: string;
  name: string;
  value: unknown;
  onChange: (value: unknown) => void;
  nameOfId: NameOfId;
}

function PresetValue({ collection, name, value, onChange, nameOfId }: ValueProps) {
  const label = fieldText(name);
  const field = fieldAt(collection, name);
  if (field?.type === 'choice')
    return (
      <SelectField
        label={label}
        value={String(value)}
        options={(field.choices ?? []).map((choice) => ({ value: choice, text: choiceText(choice) }))}
        onChange={onChange}
      />
    );
  if (field?.type === 'boolean')
    return (
      <SelectField
        label={label}
        value={value === true ? 'yes' : 'no'}
        options={[
          { value: 'yes', text: t('yes') },
          { value: 'no', text: t('no') },
        ]}
        onChange={(next) => onChange(next === 'yes')}
      />
    );
  if (name === 'role')
    return (
      <Picker
        kind="roles"
        label={label}
        value={typeof value === 'string' && value ? { id: value, name: nameOfId(value) } : undefined}
        onChange={(picked) => onChange(picked?.id ?? '')}
      />
    );
  if (typeof value === 'object' && value !== null)
    return (
      <div class="condition-json">
        <span class="label">{label}</span>
        <code>{JSON.stringify(value)}</code>
      </div>
    );
  return <TextField label={label} value={String(value)} onInput={onChange} />;
}
