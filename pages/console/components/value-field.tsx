import type { Field } from '../model/fields.js';
import { CheckField, ListField, SelectField, TextField } from './field.js';

interface Props {
  field: Pick<Field, 'type' | 'choices'>;
  label: string;
  hint?: string | undefined;
  value: unknown;
  onChange: (value: unknown) => void;
  disabled: boolean;
  fault: string | undefined;
  /** The name of a choice. */
  choiceText: (choice: string) => string;
  /** The name of no choice. Without it, there must be one. */
  noChoice?: string;
  /** What an empty text or list shows. */
  placeholder?: string | undefined;
  type?: 'text' | 'email';
  /** For a longer text, or a list with one value on each line. */
  lines?: number | undefined;
}

/** The control for a value of the API, according to its type. An empty text stands for null. */
export function ValueField({
  field,
  hint,
  value,
  onChange,
  choiceText,
  noChoice,
  placeholder,
  type = 'text',
  lines,
  ...rest
}: Props) {
  const labeled = { ...rest, ...(hint === undefined ? {} : { hint }) };
  const long = { ...(lines === undefined ? {} : { lines }), ...(placeholder === undefined ? {} : { placeholder }) };
  const text = value === null || value === undefined ? '' : String(value);
  switch (field.type) {
    case 'boolean': {
      const { fault: _, ...checked } = labeled;
      return <CheckField {...checked} checked={value === true} onChange={onChange} />;
    }
    case 'choice': {
      const choices = (field.choices ?? []).map((one) => ({ value: one, text: choiceText(one) }));
      return (
        <SelectField
          {...labeled}
          value={text}
          options={noChoice === undefined ? choices : [{ value: '', text: noChoice }, ...choices]}
          onChange={(next) => onChange(next === '' ? null : next)}
        />
      );
    }
    case 'list':
      return (
        <ListField {...labeled} {...long} value={Array.isArray(value) ? value.map(String) : []} onChange={onChange} />
      );
    case 'number':
      return (
        <TextField
          {...labeled}
          type="number"
          value={text}
          onInput={(input) => onChange(input.trim() === '' ? null : Number(input))}
        />
      );
    default:
      return (
        <TextField
          {...labeled}
          {...long}
          type={type}
          value={text}
          onInput={(input) => onChange(input.trim() === '' ? null : input)}
        />
      );
  }
}
