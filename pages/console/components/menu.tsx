import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './icon.js';

export interface MenuItem {
  text: string;
  icon?: IconName;
  onSelect: () => unknown;
  isDangerous?: boolean;
}

interface Props {
  /** The name of the button. */
  label: string;
  /** Shows the name beside the icon. */
  isLabelShown?: boolean;
  icon?: IconName;
  items: readonly (MenuItem | undefined | false)[];
  kind?: 'secondary' | 'quiet';
}

/** A button that opens a list of actions (WAI-ARIA Authoring Practices, "Menu button"). */
export function Menu({ label, isLabelShown = false, icon = 'more', items, kind = 'secondary' }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const id = useId();
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const available = items.filter((item) => item !== undefined && item !== false);
  const entries = () => [...(place.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
  // With `useEffect`, keys that are pressed before the next frame would still go to the button.
  useLayoutEffect(() => {
    if (!isOpen) return;
    entries()[0]?.focus();
    const onPress = (event: Event) => {
      if (event.target instanceof Node && !place.current?.contains(event.target)) setIsOpen(false);
    };
    document.addEventListener('pointerdown', onPress);
    return () => document.removeEventListener('pointerdown', onPress);
  }, [isOpen]);
  const close = () => {
    setIsOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const list = entries();
    const index = list.indexOf(document.activeElement as HTMLElement);
    const next = {
      ArrowDown: list[(index + 1) % list.length],
      ArrowUp: list[(index - 1 + list.length) % list.length],
      Home: list[0],
      End: list.at(-1),
    }[event.key];
    if (next) next.focus();
    else if (event.key === 'Escape') close();
    else if (event.key === 'Tab') setIsOpen(false);
    else return;
    if (event.key === 'Tab') return;
    event.preventDefault();
    event.stopPropagation();
  };
  if (available.length === 0) return null;
  return (
    <div class="menu" ref={place}>
      <button
        ref={button}
        type="button"
        class={`${kind} small ${isLabelShown ? '' : 'icon-only'}`}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-label={isLabelShown ? undefined : label}
        title={isLabelShown ? undefined : label}
        onClick={() => setIsOpen(!isOpen)}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown') return;
          event.preventDefault();
          setIsOpen(true);
        }}
      >
        <Icon name={icon} />
        {isLabelShown && <span>{label}</span>}
      </button>
      {isOpen && (
        <div role="menu" id={id} aria-label={label} class="menu-list" tabIndex={-1} onKeyDown={onKeyDown}>
          {available.map((item) => (
            <button
              key={item.text}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={item.isDangerous ? 'is-dangerous' : ''}
              onClick={() => {
                close();
                item.onSelect();
              }}
            >
              {item.icon && <Icon name={item.icon} />}
              <span>{item.text}</span>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
