import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useAccess } from '../../app/access.js';
import { type Collection, type Field, fieldAt, fieldsOf } from '../../model/fields.js';
import { choiceText, fieldText, t, textIfAny } from '../../texts.js';
import { Button } from '../button.js';
import { Combobox } from '../combobox.js';
import { TextField } from '../field.js';
import { Icon } from '../icon.js';
import { Popover } from '../popover.js';
import { ConditionEditor } from './condition-editor.js';
import {
  type Condition,
  type FieldCondition,
  filterText,
  isFieldCondition,
  readFilter,
  writeFilter,
} from './conditions.js';
import { comparisonOf, comparisonText, valuesOf } from './forms.js';
import { momentText } from './moments.js';
import { useNames } from './names.js';

interface Props {
  collection: Collection;
  /** The filter as in the URL: the JSON of the API, or an empty text. */
  value: string;
  onChange: (filter: string | undefined) => void;
  /** The fields that are offered first. */
  usual: readonly string[];
}

/** The name of a field in a path, such as `Role`, or `Role › Name`. */
function pathText(path: readonly string[]): string {
  const [name, below] = path;
  const own = path.length === 2 ? textIfAny(`field_${name}_${below}`) : undefined;
  return own ?? path.map(fieldText).join(' › ');
}

/** The conditions of a list, each as a chip that opens its editor. */
export function FilterBar({ collection, value, onChange, usual }: Props) {
  const conditions = readFilter(collection, value);
  const names = useNames(collection, conditions);
  const write = (next: readonly Condition[]) => onChange(filterText(next));
  const replace = (index: number, condition: Condition | undefined) =>
    write(conditions.flatMap((one, at) => (at !== index ? [one] : condition ? [condition] : [])));
  const isInvalid = conditions.some((condition) => 'text' in condition);
  return (
    <div class="filter-bar">
      {conditions.length > 0 && (
        <ul class="filter-chips" aria-label={t('filters')}>
          {conditions.map((condition, index) => (
            <Chip
              key={`${index} ${JSON.stringify(condition)}`}
              collection={collection}
              condition={condition}
              names={names}
              onChange={(next) => replace(index, next)}
            />
          ))}
        </ul>
      )}
      {!isInvalid && (
        <AddFilter
          collection={collection}
          names={names}
          usual={usual}
          onAdd={(condition) => write([...conditions, condition])}
        />
      )}
      {conditions.length > 1 && (
        <Button kind="quiet" onPress={() => onChange(undefined)}>
          {t('filter_clear')}
        </Button>
      )}
    </div>
  );
}

interface ChipProps {
  collection: Collection;
  condition: Condition;
  names: ReadonlyMap<string, string>;
  onChange: (condition: Condition | undefined) => void;
}

function Chip({ collection, condition, names, onChange }: ChipProps) {
  const [isOpen, setIsOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => setIsOpen(false);
  const text = chipText(collection, condition, names);
  return (
    <li class="filter-chip">
      <button
        ref={button}
        type="button"
        class="filter-chip-text"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        {text.parts}
      </button>
      <Button
        kind="quiet"
        icon="close"
        label={t('filter_remove', { name: text.plain })}
        onPress={() => {
          // The chip disappears, and the focus must not.
          document.querySelector<HTMLElement>('[data-add-filter]')?.focus();
          onChange(undefined);
        }}
      />
      {isOpen && (
        <Popover label={t('filter_edit', { name: text.name })} anchor={button} onClose={close}>
          {isFieldCondition(condition) ? (
            <>
              <p class="popover-title">{text.name}</p>
              <ConditionEditor
                collection={collection}
                path={condition.path}
                condition={condition}
                names={names}
                onApply={(next) => {
                  close();
                  onChange(next);
                }}
              />
            </>
          ) : (
            <JsonEditor
              condition={condition}
              onApply={(filter) => {
                close();
                onChange(filter);
              }}
            />
          )}
        </Popover>
      )}
    </li>
  );
}

interface ChipText {
  name: string;
  plain: string;
  parts: ComponentChildren;
}

function chipText(collection: Collection, condition: Condition, names: ReadonlyMap<string, string>): ChipText {
  if (!isFieldCondition(condition)) {
    const json = 'text' in condition ? condition.text : JSON.stringify(condition.json);
    return { name: t('filter_json'), plain: json, parts: <code>{json}</code> };
  }
  const field = fieldAt(collection, condition.path) as Field;
  const comparison = comparisonOf(field, condition);
  const name = pathText(condition.path);
  const compared = comparison ? comparisonText(comparison.key) : condition.operator;
  const operand = comparison?.input === 'nothing' ? '' : operandText(field, condition, names);
  const orEmpty = condition.orEmpty ? t('filter_or_empty') : '';
  return {
    name,
    plain: [name, compared, operand, orEmpty].filter(Boolean).join(' '),
    parts: (
      <>
        <span>{name}</span>
        <span class="filter-chip-operator">{compared}</span>
        {operand !== '' && <strong>{operand}</strong>}
        {orEmpty !== '' && <span class="filter-chip-operator">{orEmpty}</span>}
      </>
    ),
  };
}

/** How many values a chip lists. */
const maxListed = 3;

function operandText(field: Field, condition: FieldCondition, names: ReadonlyMap<string, string>): string {
  const values = valuesOf(condition).map((value) => {
    if (field.filter === 'boolean') return t(value === 'true' ? 'yes' : 'no');
    if (field.filter === 'timestamp') return momentText(value);
    if (field.type === 'choice') return choiceText(value);
    return names.get(value) ?? value;
  });
  if (condition.operator === 'between' || condition.operator === 'nbetween') return values.join(' – ');
  const shown = values.slice(0, maxListed).join(', ');
  return values.length > maxListed
    ? t('filter_more_values', { values: shown, count: values.length - maxListed })
    : shown;
}

interface JsonProps {
  condition: Condition;
  onApply: (condition: Condition | undefined) => void;
}

/** For what no other editor understands. */
function JsonEditor({ condition, onApply }: JsonProps) {
  const written = writeFilter([condition]);
  const [text, setText] = useState(typeof written === 'string' ? written : JSON.stringify(written, null, 2));
  const parsed = parse(text);
  return (
    <form
      class="condition-editor"
      onSubmit={(event) => {
        event.preventDefault();
        if (parsed) onApply({ json: parsed });
      }}
    >
      <TextField
        label={t('filter_json')}
        lines={6}
        value={text}
        onInput={setText}
        fault={parsed ? undefined : t('filter_json_fault')}
      />
      <div class="buttons">
        <button type="submit" class="primary small" disabled={!parsed}>
          {t('filter_apply')}
        </button>
      </div>
    </form>
  );
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

interface AddProps {
  collection: Collection;
  usual: readonly string[];
  names: ReadonlyMap<string, string>;
  onAdd: (condition: Condition) => void;
}

interface Option {
  key: string;
  path: readonly string[];
  text: string;
  /** A complete condition, which needs no editor. */
  condition?: FieldCondition;
}

function AddFilter({ collection, names, usual, onAdd }: AddProps) {
  const [isOpen, setIsOpen] = useState(false);
  const [search, setSearch] = useState('');
  const [path, setPath] = useState<readonly string[]>();
  const button = useRef<HTMLButtonElement>(null);
  const options = useOptions(collection, usual, search);
  const open = () => {
    setSearch('');
    setPath(undefined);
    setIsOpen(!isOpen);
  };
  const add = (condition: Condition) => {
    setIsOpen(false);
    button.current?.focus();
    onAdd(condition);
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class="quiet small filter-add"
        data-add-filter
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={open}
      >
        <Icon name="filter" />
        <span>{t('filter_add')}</span>
      </button>
      {isOpen && (
        <Popover label={t('filter_add')} anchor={button} onClose={() => setIsOpen(false)} key={path?.join('.')}>
          {path ? (
            <>
              <p class="popover-title">{pathText(path)}</p>
              <ConditionEditor collection={collection} path={path} names={names} onApply={add} />
            </>
          ) : (
            <Combobox
              label={t('filter_field')}
              isLabelHidden
              placeholder={t('filter_field')}
              search={search}
              onSearch={setSearch}
              options={options}
              optionKey={({ key }) => key}
              draw={({ text, condition }) => (
                <>
                  <span>{text}</span>
                  {condition && <span class="hint">{pathText(condition.path)}</span>}
                </>
              )}
              onPick={(option) => (option.condition ? add(option.condition) : setPath(option.path))}
              nothing={t('search_nothing')}
              isOpen
            />
          )}
        </Popover>
      )}
    </>
  );
}

/** The fields that the caller may read and filter by, and the values of choices, so that typing `susp` offers the status. */
function useOptions(collection: Collection, usual: readonly string[], search: string): Option[] {
  const { canUse } = useAccess();
  const readable = fieldsOf(collection).filter(({ name, filter }) => filter && canUse('read', collection, name));
  const wanted = search.trim().toLowerCase();
  const matches = (text: string) => text.toLowerCase().includes(wanted);
  const fields = readable.flatMap((field): Option[] => {
    const target = field.type === 'relation' ? (field.collection as Collection | undefined) : undefined;
    const inherited = target && fieldAt(collection, [field.name, 'parent'])?.collection === target;
    const paths = [[field.name], ...(inherited && canUse('read', target, 'parent') ? [[field.name, 'parent']] : [])];
    return paths.map((path) => ({ key: path.join('.'), path, text: pathText(path) }));
  });
  const choices = readable.flatMap(({ name, choices = [] }) =>
    choices.map((choice) => ({
      key: `${name} ${choice}`,
      path: [name],
      text: choiceText(choice),
      condition: { path: [name], operator: 'in', value: [choice] } as FieldCondition,
    })),
  );
  const place = ({ path: [name = ''] }: Option) => (usual.includes(name) ? usual.indexOf(name) : usual.length);
  fields.sort((a, b) => place(a) - place(b));
  return [...fields, ...(wanted === '' ? [] : choices)].filter(({ text }) => matches(text));
}
