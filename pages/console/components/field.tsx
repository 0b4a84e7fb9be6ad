import type { ComponentChildren, JSX } from 'preact';
import { useId, useState } from 'preact/hooks';

interface Labeled {
  label: string;
  /** Explains the field. */
  hint?: ComponentChildren;
  /** What is wrong with the value. */
  fault?: string | undefined;
  /** Hides the label from view, where a heading or a column says the same. */
  isLabelHidden?: boolean;
}

type Control = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean | undefined };

/** A label, the control, its hint, and what is wrong with it. @param control draws the control, with the given attributes */
export function Field({
  label,
  hint,
  fault,
  isLabelHidden,
  control,
}: Labeled & { control: (attributes: Control) => JSX.Element }) {
  const id = useId();
  const described = [hint !== undefined && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id} class={isLabelHidden ? 'visually-hidden' : ''}>
        {label}
      </label>
      {control({ id, 'aria-describedby': described || undefined, 'aria-invalid': fault ? true : undefined })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <p class="fault" id={`${id}-fault`} role="alert">
        {fault}
      </p>
    </div>
  );
}

interface TextProps extends Labeled {
  value: string;
  onInput: (value: string) => void;
  type?: 'text' | 'email' | 'number' | 'password' | 'url' | 'search' | 'datetime-local' | 'date';
  name?: string;
  placeholder?: string;
  required?: boolean;
  maxLength?: number;
  autofocus?: boolean;
  autocomplete?: string;
  disabled?: boolean;
  /** The number of lines of a longer text. */
  lines?: number;
}

export function TextField({ value, onInput, type = 'text', lines, ...rest }: TextProps) {
  const { name, placeholder, required, maxLength, autofocus, autocomplete = 'off', disabled, ...labeled } = rest;
  const shared = { name, placeholder, required, autofocus, autocomplete, disabled, value };
  const limit = maxLength === undefined ? {} : { maxLength };
  return (
    <Field
      {...labeled}
      control={(attributes) =>
        lines === undefined ? (
          <input
            {...shared}
            {...limit}
            {...attributes}
            type={type}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
        ) : (
          <textarea
            {...shared}
            {...limit}
            {...attributes}
            rows={lines}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
        )
      }
    />
  );
}

/** The values in a text in which commas separate them. */
export const listIn = (text: string): string[] => partsOf(text, ',');

const partsOf = (text: string, separator: string | RegExp): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter(Boolean);

interface ListProps extends Omit<TextProps, 'value' | 'onInput' | 'type'> {
  value: readonly string[];
  onChange: (value: string[]) => void;
}

/**
 * A text field for several values, one on each line or, if it has only one line, separated by commas. What the user types stays as it is,
 * so that a separator does not disappear before the next value.
 */
export function ListField({ value, onChange, ...rest }: ListProps) {
  const [separator, joint] = rest.lines === undefined ? [',', ', '] : [/\s+/, '\n'];
  const written = value.join(joint);
  const [typed, setTyped] = useState(written);
  return (
    <TextField
      {...rest}
      value={partsOf(typed, separator).join(joint) === written ? typed : written}
      onInput={(text) => {
        setTyped(text);
        onChange(partsOf(text, separator));
      }}
    />
  );
}

interface SelectProps<V extends string> extends Labeled {
  value: V;
  options: readonly { value: V; text: string }[];
  onChange: (value: V) => void;
  disabled?: boolean;
}

export function SelectField<V extends string>({ value, options, onChange, disabled, ...labeled }: SelectProps<V>) {
  return (
    <Field
      {...labeled}
      control={(attributes) => (
        <select
          {...attributes}
          value={value}
          disabled={disabled}
          onChange={(event) => onChange(event.currentTarget.value as V)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.text}
            </option>
          ))}
        </select>
      )}
    />
  );
}

interface CheckProps {
  label: ComponentChildren;
  checked: boolean;
  onChange: (checked: boolean) => void;
  hint?: ComponentChildren;
  disabled?: boolean;
}

export function CheckField({ label, checked, onChange, hint, disabled }: CheckProps) {
  const id = useId();
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : id}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>
        {label}
        {hint !== undefined && (
          <span class="hint" id={id}>
            {hint}
          </span>
        )}
      </span>
    </label>
  );
}
