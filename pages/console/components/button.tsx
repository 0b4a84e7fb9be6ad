import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { whileBusy } from '../../kit/busy.js';
import { Icon, type IconName } from './icon.js';

interface Props {
  /** Default: `secondary`. `quiet` has no border. */
  kind?: 'primary' | 'secondary' | 'danger' | 'quiet';
  icon?: IconName;
  /** For a button that only shows its icon. */
  label?: string;
  type?: 'button' | 'submit';
  disabled?: boolean;
  /** While the returned promise is pending, the button shows a spinner, and ignores clicks. If it is rejected, `Toasts` says why. */
  onPress?: (event: JSX.TargetedMouseEvent<HTMLButtonElement>) => unknown;
  pressed?: boolean;
  expanded?: boolean;
  id?: string;
  describedBy?: string;
  class?: string;
  children?: ComponentChildren;
}

export function Button({ kind = 'secondary', icon, label, type = 'button', onPress, children, ...rest }: Props) {
  const element = useRef<HTMLButtonElement>(null);
  const { disabled, pressed, expanded, id, describedBy } = rest;
  return (
    <button
      ref={element}
      type={type}
      id={id}
      class={`${kind} small ${children === undefined ? 'icon-only' : ''} ${rest.class ?? ''}`}
      disabled={disabled}
      aria-label={label}
      title={children === undefined ? label : undefined}
      aria-pressed={pressed}
      aria-expanded={expanded}
      aria-describedby={describedBy}
      onClick={(event) => {
        const result = onPress?.(event);
        if (result instanceof Promise) void whileBusy(element.current, () => result.then(() => {}));
      }}
    >
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}
