import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

interface Props<T> {
  label: string;
  isLabelHidden?: boolean;
  placeholder?: string;
  /** What the user has typed. The parent searches for it. */
  search: string;
  onSearch: (search: string) => void;
  options: readonly T[];
  isLoading?: boolean;
  optionKey: (option: T) => string;
  draw: (option: T) => ComponentChildren;
  onPick: (option: T) => void;
  /** What the list says if nothing matches. */
  nothing: string;
  /** Whether the list is always visible, as in the command palette. Default: only while the field has the focus. */
  isOpen?: boolean;
  autofocus?: boolean;
  hint?: string | undefined;
}

/** The position of no option. */
const none = -1;

/**
 * A text field with a list of suggestions (WAI-ARIA Authoring Practices, "Combobox with list autocomplete"): the focus remains in the field,
 * the arrow keys move through the list, Enter picks, and Escape closes the list.
 */
export function Combobox<T>(props: Props<T>) {
  const {
    label,
    search,
    onSearch,
    options,
    optionKey,
    draw,
    onPick,
    nothing,
    isLoading = false,
    isOpen = false,
  } = props;
  const id = useId();
  const [isShown, setIsShown] = useState(isOpen);
  // Where Enter picks something for good, nothing is picked before the user has typed or moved.
  const first = isOpen || search.trim() !== '' ? 0 : none;
  const [active, setActive] = useState(first);
  const list = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  /** Whether Enter was pressed while the options of an earlier search were still shown. */
  const isWaiting = useRef(false);
  const optionId = (index: number) => `${id}-option-${index}`;
  useEffect(() => setActive(first), [search, options.length]);
  useEffect(() => {
    if (isShown) list.current?.children[active]?.scrollIntoView({ block: 'nearest' });
  }, [active, isShown]);
  useEffect(() => {
    if (props.autofocus) input.current?.focus();
  }, []);

  const pick = (index: number) => {
    const option = options[index];
    if (option === undefined) return;
    if (!isOpen) setIsShown(false);
    onPick(option);
  };
  useEffect(() => {
    if (isLoading || !isWaiting.current) return;
    isWaiting.current = false;
    pick(0);
  }, [isLoading]);
  const onKeyDown = (event: KeyboardEvent) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move !== undefined) {
      event.preventDefault();
      if (!isShown) setIsShown(true);
      else if (options.length > 0) {
        const from = active === none && move < 0 ? 0 : active;
        setActive((from + move + options.length) % options.length);
      }
    } else if (event.key === 'Enter' && isShown && (isLoading ? first === 0 : options[active] !== undefined)) {
      event.preventDefault();
      if (isLoading) isWaiting.current = true;
      else pick(active);
    } else if (event.key === 'Escape' && isShown && !isOpen) {
      // Only the list closes, and not the dialog around it.
      event.preventDefault();
      event.stopPropagation();
      setIsShown(false);
    }
  };
  return (
    <div class="combobox">
      <label for={id} class={props.isLabelHidden ? 'visually-hidden' : ''}>
        {label}
      </label>
      <input
        ref={input}
        id={id}
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls={`${id}-list`}
        aria-activedescendant={isShown && options[active] !== undefined ? optionId(active) : undefined}
        aria-describedby={props.hint === undefined ? undefined : `${id}-hint`}
        placeholder={props.placeholder}
        value={search}
        onInput={(event) => {
          setIsShown(true);
          isWaiting.current = false;
          onSearch(event.currentTarget.value);
        }}
        onFocus={() => setIsShown(true)}
        onBlur={() => !isOpen && setIsShown(false)}
        onKeyDown={onKeyDown}
      />
      {props.hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {props.hint}
        </p>
      )}
      <div class="combobox-list" hidden={!isShown}>
        <div role="listbox" id={`${id}-list`} aria-label={label} aria-busy={isLoading} ref={list}>
          {options.map((option, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
            <div
              key={optionKey(option)}
              id={optionId(index)}
              role="option"
              tabIndex={-1}
              aria-selected={index === active}
              onClick={() => pick(index)}
              // Pressing the mouse in the list must not take the focus from the field.
              onMouseDown={(event) => event.preventDefault()}
              onMouseMove={() => setActive(index)}
            >
              {draw(option)}
            </div>
          ))}
        </div>
        <p class="combobox-note" role="status">
          {!isLoading && options.length === 0 ? nothing : ''}
        </p>
      </div>
    </div>
  );
}
