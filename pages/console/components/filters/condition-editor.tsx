import { useState } from 'preact/hooks';
import { useChildRoles, withDescendants } from '../../api/role-tree.js';
import { type Collection, type Field, fieldAt } from '../../model/fields.js';
import { choiceText, t } from '../../texts.js';
import { CheckField, ListField, listIn, SelectField, TextField } from '../field.js';
import { ManyPicker } from '../picker.js';
import type { FieldCondition } from './conditions.js';
import {
  type Age,
  ageUnits,
  type Comparison,
  comparisonOf,
  comparisonsOf,
  comparisonText,
  leavesOutEmpty,
  readAge,
  valuesOf,
  writeAge,
} from './forms.js';
import { isNamed } from './names.js';

interface Draft {
  text: string;
  list: readonly string[];
  age: { count: string; unit: Age['unit'] };
  from: string;
  to: string;
  isTrue: boolean;
  orEmpty: boolean;
}

const two = (value: number): string => String(value).padStart(2, '0');

/** A time as `<input type="datetime-local">` shows it, in the time zone of the browser. */
function toInput(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return '';
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

const startOfToday = (): string => toInput(new Date(new Date().setHours(0, 0, 0, 0)).toISOString());

function draftOf(condition: FieldCondition | undefined): Draft {
  const { count, unit } = readAge(condition?.value) ?? { count: 30, unit: 'days' as const };
  const values = condition === undefined || condition.value === true ? [] : valuesOf(condition);
  const [from = startOfToday(), to = startOfToday()] = values.map(toInput).filter(Boolean);
  return {
    text: values.join(', '),
    list: values,
    age: { count: String(count), unit },
    from,
    to,
    isTrue: condition?.value !== false,
    orEmpty: condition?.orEmpty === true,
  };
}

/** The operand that the user has entered. Undefined: something is missing. */
function operandOf({ input }: Comparison, { filter }: Field, draft: Draft): unknown {
  const { text, list, age, from, to } = draft;
  const moments = [from, to].map((value) => (value === '' ? undefined : new Date(value).toISOString()));
  const texts = listIn(text);
  const count = Number.parseInt(age.count, 10);
  switch (input) {
    case 'nothing':
      return true;
    case 'boolean':
      return draft.isTrue;
    case 'text':
      if (text.trim() === '') return undefined;
      return filter === 'integer' && /^-?\d+$/.test(text.trim()) ? Number(text) : text.trim();
    case 'texts':
      return texts.length > 0 ? texts : undefined;
    case 'choices':
    case 'items':
      return list.length > 0 ? list : undefined;
    case 'ago':
      return count > 0 ? writeAge({ count, unit: age.unit }) : undefined;
    case 'moment':
      return moments[0];
    case 'moments':
      return moments.includes(undefined) ? undefined : moments;
  }
}

interface Props {
  collection: Collection;
  path: readonly string[];
  /** The condition to change. Without it, the editor creates one. */
  condition?: FieldCondition | undefined;
  names: ReadonlyMap<string, string>;
  onApply: (condition: FieldCondition) => void;
}

/** Edits one condition: how to compare the field, and with what. */
export function ConditionEditor({ collection, path, condition, names, onApply }: Props) {
  const field = fieldAt(collection, path) as Field;
  const comparisons = comparisonsOf(field);
  const initial = (condition && comparisonOf(field, condition)) ?? (comparisons[0] as Comparison);
  const [key, setKey] = useState(initial.key);
  const [draft, setDraft] = useState(() => draftOf(condition));
  const [picked, setPicked] = useState<ReadonlyMap<string, string>>(names);
  const set = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const comparison = comparisons.find((one) => one.key === key) ?? initial;
  const { operator, input } = comparison;
  // Users also inherit from the parents of the parent.
  const isInherited = input === 'items' && path.length > 1 && path.at(-1) === 'parent';
  const { children } = useChildRoles(isInherited);
  const entered = operandOf(comparison, field, draft);
  const operand = isInherited && entered ? children && withDescendants(draft.list, children) : entered;
  const target = isNamed(field.collection) ? field.collection : undefined;
  // Without the choice, the result would surprise users who do not know SQL.
  const offersEmpty =
    path.length === 1 && input !== 'nothing' && (leavesOutEmpty(comparison) || condition?.orEmpty === true);
  const apply = () => {
    if (operand === undefined) return;
    const value = operator === 'some' || operator === 'none' ? (input === 'nothing' ? [] : operand) : operand;
    onApply({ path, operator, value, ...(offersEmpty && draft.orEmpty ? { orEmpty: true } : {}) });
  };
  return (
    <form
      class="condition-editor"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <SelectField
        label={t('filter_comparison')}
        isLabelHidden
        value={key}
        options={comparisons.map((one) => ({ value: one.key, text: comparisonText(one.key) }))}
        onChange={setKey}
      />
      {(input === 'text' || input === 'texts') && (
        <TextField
          label={t('filter_value')}
          isLabelHidden
          autofocus
          value={draft.text}
          onInput={(text) => set({ text })}
          {...(input === 'texts' ? { hint: t('filter_list_hint') } : {})}
        />
      )}
      {input === 'boolean' && (
        <SelectField
          label={t('filter_value')}
          isLabelHidden
          value={String(draft.isTrue)}
          options={[
            { value: 'true', text: t('yes') },
            { value: 'false', text: t('no') },
          ]}
          onChange={(value) => set({ isTrue: value === 'true' })}
        />
      )}
      {input === 'choices' && (
        <fieldset class="choices">
          <legend class="visually-hidden">{t('filter_value')}</legend>
          {(field.choices ?? []).map((choice) => (
            <CheckField
              key={choice}
              label={choiceText(choice)}
              checked={draft.list.includes(choice)}
              onChange={(isChecked) =>
                set({ list: isChecked ? [...draft.list, choice] : draft.list.filter((one) => one !== choice) })
              }
            />
          ))}
        </fieldset>
      )}
      {input === 'items' &&
        (target ? (
          <ManyPicker
            kind={target}
            label={t('filter_value')}
            isLabelHidden
            value={draft.list.map((id) => ({ id, name: picked.get(id) ?? id }))}
            onChange={(items) => {
              setPicked(new Map([...picked, ...items.map(({ id, name }) => [id, name] as const)]));
              set({ list: items.map(({ id }) => id) });
            }}
          />
        ) : (
          <ListField
            label={t('filter_value')}
            isLabelHidden
            value={draft.list}
            hint={t('filter_list_hint')}
            onChange={(list) => set({ list })}
          />
        ))}
      {input === 'ago' && (
        <div class="condition-age">
          <TextField
            label={t('filter_count')}
            isLabelHidden
            type="number"
            value={draft.age.count}
            onInput={(count) => set({ age: { ...draft.age, count } })}
          />
          <SelectField
            label={t('filter_unit')}
            isLabelHidden
            value={draft.age.unit}
            options={ageUnits.map((unit) => ({ value: unit, text: t(`filter_unit_${unit}`) }))}
            onChange={(unit) => set({ age: { ...draft.age, unit } })}
          />
        </div>
      )}
      {(input === 'moment' || input === 'moments') && (
        <TextField
          label={t(input === 'moments' ? 'filter_from' : 'filter_value')}
          isLabelHidden={input === 'moment'}
          type="datetime-local"
          value={draft.from}
          onInput={(from) => set({ from })}
        />
      )}
      {input === 'moments' && (
        <TextField label={t('filter_to')} type="datetime-local" value={draft.to} onInput={(to) => set({ to })} />
      )}
      {offersEmpty && (
        <CheckField
          label={t('filter_or_empty_option')}
          checked={draft.orEmpty}
          onChange={(orEmpty) => set({ orEmpty })}
        />
      )}
      <div class="buttons">
        <button type="submit" class="primary small" disabled={operand === undefined}>
          {t('filter_apply')}
        </button>
      </div>
    </form>
  );
}
