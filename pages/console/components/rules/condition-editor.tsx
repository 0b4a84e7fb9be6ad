import type { Collection } from '../../model/fields.js';
import { fieldsOf } from '../../model/fields.js';
import { choiceText, fieldText, t, tn } from '../../texts.js';
import { Button } from '../button.js';
import { CheckField, SelectField, TextField } from '../field.js';
import { ManyPicker, type PickedKind, Picker } from '../picker.js';
import {
  type Condition,
  type Conditions,
  type FieldCondition,
  fieldAt,
  isFieldCondition,
  needsList,
  needsValue,
  type Operator,
  operatorsFor,
  readFilter,
  readOffset,
  targetOf,
  units,
  writeFilter,
  writeOffset,
} from './conditions.js';
import type { NameOfId } from './names.js';
import { type Filter, isCollection } from './rule.js';

interface Props {
  label: string;
  hint: string;
  collection: string;
  filter: Filter | null;
  onChange: (filter: Filter | null) => void;
  nameOfId: NameOfId;
}

/** The fields of related items that a condition can name. */
const relatedFields: Partial<Record<Collection, readonly string[]>> = { roles: ['name', 'parent'] };

/** The paths that a condition can begin with, in the order of the API. */
function pathsOf(collection: string): string[] {
  if (!isCollection(collection)) return [];
  return fieldsOf(collection)
    .filter((field) => operatorsFor(field).length > 0)
    .flatMap(({ name, type, collection: target }) => [
      name,
      ...(type === 'relation' ? (relatedFields[target as Collection] ?? []).map((inner) => `${name}.${inner}`) : []),
    ]);
}

const pathText = (path: string): string => path.split('.').map(fieldText).join(' › ');

/** What a new condition on a field starts with. */
function conditionOn(collection: string, path: string): FieldCondition {
  const field = fieldAt(collection, path);
  const operator = (field && operatorsFor(field)[0]) ?? 'null';
  return { path, operator, value: startValue(collection, path, operator) };
}

function startValue(collection: string, path: string, operator: Operator): unknown {
  if (!needsValue(operator)) return true;
  if (needsList(operator)) return [];
  const field = fieldAt(collection, path);
  if (field?.type === 'boolean') return true;
  if (field?.type === 'number') return 0;
  if (field?.type === 'time') return '$NOW';
  const target = targetOf(collection, path);
  if (target === 'users') return '$CURRENT_USER';
  if (target === 'roles') return '$CURRENT_ROLE';
  return field?.choices?.[0] ?? '';
}

/** The conditions of a rule, one line for each. */
export function ConditionEditor({ label, hint, collection, filter, onChange, nameOfId }: Props) {
  const conditions = readFilter(collection, filter);
  const { mode, list } = conditions;
  const paths = pathsOf(collection);
  const set = (next: Partial<Conditions>) => onChange(writeFilter({ ...conditions, ...next }));
  const replace = (index: number, condition: Condition) =>
    set({ list: list.map((one, position) => (position === index ? condition : one)) });
  if (paths.length === 0 && list.length === 0) return null;
  return (
    <fieldset class="conditions">
      <legend class="label">{label}</legend>
      <p class="hint">{hint}</p>
      {list.length > 1 && (
        <SelectField
          label={t('rule_mode')}
          isLabelHidden
          value={mode}
          options={[
            { value: 'all', text: t('rule_mode_all') },
            { value: 'any', text: t('rule_mode_any') },
          ]}
          onChange={(next) => set({ mode: next })}
        />
      )}
      {list.map((condition, index) => (
        <div class="condition" key={index}>
          {isFieldCondition(condition) ? (
            <FieldConditionEditor
              collection={collection}
              condition={condition}
              paths={paths}
              onChange={(next) => replace(index, next)}
              nameOfId={nameOfId}
            />
          ) : (
            <div class="condition-json">
              <code>{JSON.stringify(condition.json)}</code>
              <p class="hint">{t('rule_json_hint')}</p>
            </div>
          )}
          <Button
            kind="quiet"
            icon="trash"
            label={t('rule_remove_condition', { number: index + 1 })}
            onPress={() => set({ list: list.filter((_, position) => position !== index) })}
          />
        </div>
      ))}
      {paths.length > 0 && (
        <Button icon="plus" onPress={() => set({ list: [...list, conditionOn(collection, startPath(paths))] })}>
          {t('rule_add_condition')}
        </Button>
      )}
    </fieldset>
  );
}

const startPath = (paths: readonly string[]): string =>
  ['status', 'role', 'name'].find((path) => paths.includes(path)) ?? paths[0] ?? '';

interface FieldProps {
  collection: string;
  condition: FieldCondition;
  paths: readonly string[];
  onChange: (condition: FieldCondition) => void;
  nameOfId: NameOfId;
}

function FieldConditionEditor({ collection, condition, paths, onChange, nameOfId }: FieldProps) {
  const { path, operator } = condition;
  const field = fieldAt(collection, path);
  const known = paths.includes(path) ? paths : [path, ...paths];
  return (
    <div class="condition-parts">
      <SelectField
        label={t('rule_condition_field')}
        isLabelHidden
        value={path}
        options={known.map((value) => ({ value, text: pathText(value) }))}
        onChange={(next) => onChange(conditionOn(collection, next))}
      />
      <SelectField
        label={t('rule_comparison')}
        isLabelHidden
        value={operator}
        options={(field ? operatorsFor(field) : [operator]).map((value) => ({ value, text: t(`operator_${value}`) }))}
        onChange={(next) => {
          const isSameKind = needsValue(next) === needsValue(operator) && needsList(next) === needsList(operator);
          const value = isSameKind ? condition.value : startValue(collection, path, next);
          onChange({ ...condition, operator: next, value });
        }}
      />
      {needsValue(operator) && (
        <ValueEditor collection={collection} condition={condition} onChange={onChange} nameOfId={nameOfId} />
      )}
    </div>
  );
}

type ValueProps = Omit<FieldProps, 'paths'>;

function ValueEditor({ collection, condition, onChange, nameOfId }: ValueProps) {
  const { path, operator, value } = condition;
  const field = fieldAt(collection, path);
  const target = targetOf(collection, path);
  const set = (next: unknown) => onChange({ ...condition, value: next });
  const label = t('rule_value');
  if (target) return <ItemEditor {...{ target, condition, nameOfId }} onChange={set} />;
  if (needsList(operator) && field?.type === 'choice')
    return (
      <div class="condition-choices">
        {(field.choices ?? []).map((choice) => (
          <CheckField
            key={choice}
            label={choiceText(choice)}
            checked={Array.isArray(value) && value.includes(choice)}
            onChange={(checked) => {
              const others = (Array.isArray(value) ? value : []).filter((one) => one !== choice);
              set(checked ? [...others, choice] : others);
            }}
          />
        ))}
      </div>
    );
  if (needsList(operator)) {
    const text = Array.isArray(value) ? value.join(', ') : String(value);
    return <ListEditor text={text} onChange={set} />;
  }
  if (field?.type === 'choice')
    return (
      <SelectField
        label={label}
        isLabelHidden
        value={String(value)}
        options={(field.choices ?? []).map((choice) => ({ value: choice, text: choiceText(choice) }))}
        onChange={set}
      />
    );
  if (field?.type === 'boolean')
    return (
      <SelectField
        label={label}
        isLabelHidden
        value={value === true ? 'yes' : 'no'}
        options={[
          { value: 'yes', text: t('yes') },
          { value: 'no', text: t('no') },
        ]}
        onChange={(next) => set(next === 'yes')}
      />
    );
  if (field?.type === 'time') return <TimeEditor value={value} onChange={set} />;
  if (field?.type === 'number')
    return (
      <TextField
        label={label}
        isLabelHidden
        type="number"
        value={String(value)}
        onInput={(next) => set(Number(next))}
      />
    );
  return <TextField label={label} isLabelHidden value={String(value)} onInput={set} />;
}

/** Several texts, separated by commas. */
const ListEditor = ({ text, onChange }: { text: string; onChange: (value: string[]) => void }) => (
  <TextField
    label={t('rule_value')}
    isLabelHidden
    placeholder={t('user_list_hint')}
    value={text}
    onInput={(next) => onChange(next.split(',').map((part) => part.trimStart()))}
  />
);

interface ItemProps {
  target: Collection;
  condition: FieldCondition;
  onChange: (value: unknown) => void;
  nameOfId: NameOfId;
}

/** The items that the value can stand for, in addition to specific ones. */
const ownItems: Partial<Record<Collection, { one?: string; many?: string }>> = {
  users: { one: '$CURRENT_USER' },
  roles: { one: '$CURRENT_ROLE', many: '$CURRENT_ROLES' },
  policies: { many: '$CURRENT_POLICIES' },
};
const ownTexts = {
  $CURRENT_USER: 'rule_current_user',
  $CURRENT_ROLE: 'rule_current_role',
  $CURRENT_ROLES: 'rule_current_roles',
  $CURRENT_POLICIES: 'rule_current_policies',
} as const;
const pickable: readonly string[] = ['users', 'roles', 'policies', 'clients'];

function ItemEditor({ target, condition: { operator, value }, onChange, nameOfId }: ItemProps) {
  const isList = needsList(operator);
  const own = ownItems[target]?.[isList ? 'many' : 'one'] as keyof typeof ownTexts | undefined;
  const isOwn = own !== undefined && value === own;
  const kind = pickable.includes(target) ? (target as PickedKind) : undefined;
  const label = fieldText(target);
  const asPicked = (id: string) => ({ id, name: nameOfId(id) });
  return (
    <div class="condition-item">
      {own && (
        <SelectField
          label={t('rule_value')}
          isLabelHidden
          value={isOwn ? 'own' : 'other'}
          options={[
            { value: 'own', text: t(ownTexts[own]) },
            { value: 'other', text: t(isList ? 'rule_certain_ones' : 'rule_certain_one') },
          ]}
          onChange={(next) => onChange(next === 'own' ? own : isList ? [] : '')}
        />
      )}
      {!isOwn && kind && isList && (
        <ManyPicker
          kind={kind}
          label={label}
          isLabelHidden
          value={(Array.isArray(value) ? (value as string[]) : []).map(asPicked)}
          onChange={(picked) => onChange(picked.map(({ id }) => id))}
        />
      )}
      {!isOwn && kind && !isList && (
        <Picker
          kind={kind}
          label={label}
          isLabelHidden
          value={typeof value === 'string' && value !== '' ? asPicked(value) : undefined}
          onChange={(picked) => onChange(picked?.id ?? '')}
        />
      )}
      {!isOwn && !kind && <TextField label={t('rule_value')} isLabelHidden value={String(value)} onInput={onChange} />}
    </div>
  );
}

/** A time relative to now, or a specific one. */
function TimeEditor({ value, onChange }: { value: unknown; onChange: (value: unknown) => void }) {
  const offset = readOffset(value);
  const kind = !offset ? 'certain' : offset.amount === 0 ? 'now' : offset.amount < 0 ? 'before' : 'after';
  const amount = Math.abs(offset?.amount ?? 1) || 1;
  const unit = offset?.unit ?? 'days';
  const sign = kind === 'after' ? 1 : -1;
  return (
    <div class="condition-time">
      <SelectField
        label={t('rule_time')}
        isLabelHidden
        value={kind}
        options={[
          { value: 'now', text: t('rule_now') },
          { value: 'before', text: t('rule_some_time_ago') },
          { value: 'after', text: t('rule_some_time_ahead') },
          { value: 'certain', text: t('rule_certain_time') },
        ]}
        onChange={(next) => {
          if (next === 'certain') onChange(new Date().toISOString());
          else onChange(writeOffset({ amount: { now: 0, before: -amount, after: amount }[next], unit }));
        }}
      />
      {(kind === 'before' || kind === 'after') && (
        <>
          <TextField
            label={t('rule_amount')}
            isLabelHidden
            type="number"
            value={String(amount)}
            onInput={(next) => onChange(writeOffset({ amount: sign * Math.max(1, Math.floor(Number(next))), unit }))}
          />
          <SelectField
            label={t('rule_unit')}
            isLabelHidden
            value={unit}
            options={units.map((one) => ({ value: one, text: tn(`rule_${one}`, amount).replace(/^\S+\s?/, '') }))}
            onChange={(next) => onChange(writeOffset({ amount: sign * amount, unit: next }))}
          />
        </>
      )}
      {kind === 'certain' && (
        <TextField
          label={t('rule_value')}
          isLabelHidden
          type="datetime-local"
          value={localTime(String(value))}
          onInput={(next) => !Number.isNaN(Date.parse(next)) && onChange(new Date(next).toISOString())}
        />
      )}
    </div>
  );
}

/** A time as a field of the browser expects it, in the time zone of the user. */
function localTime(value: string): string {
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) return '';
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
