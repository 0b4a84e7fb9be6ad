import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

interface Props {
  label: string;
  /** What the popover belongs to. It appears below, and the focus returns there. */
  anchor: RefObject<HTMLElement>;
  onClose: () => void;
  children: ComponentChildren;
}

const gap = 4;
const margin = 8;

/** A panel beside a control, for what needs more than a menu but should not cover the page. Escape, or a click elsewhere, closes it. */
export function Popover({ label, anchor, onClose, children }: Props) {
  const panel = useRef<HTMLDivElement>(null);
  const place = () => {
    const [element, beside] = [panel.current, anchor.current?.getBoundingClientRect()];
    if (!element || !beside) return;
    const { offsetWidth: width, offsetHeight: height } = element;
    const below = innerHeight - beside.bottom - gap - margin;
    const top = below >= height || below >= beside.top ? beside.bottom + gap : beside.top - gap - height;
    element.style.setProperty('left', `${Math.max(margin, Math.min(beside.left, innerWidth - width - margin))}px`);
    element.style.setProperty('top', `${Math.max(margin, Math.min(top, innerHeight - height - margin))}px`);
  };
  useLayoutEffect(() => {
    panel.current?.showPopover();
    place();
    const find = (selector: string) => panel.current?.querySelector<HTMLElement>(selector);
    (find('[autofocus]') ?? find('input, textarea') ?? find('select, button'))?.focus();
  }, []);
  // What is inside may have become larger or smaller.
  useLayoutEffect(place);
  useEffect(() => {
    const before = anchor.current;
    const onPress = ({ target }: Event) => {
      if (target instanceof Node && !panel.current?.contains(target) && !before?.contains(target)) onClose();
    };
    document.addEventListener('pointerdown', onPress);
    addEventListener('scroll', place, { passive: true });
    addEventListener('resize', place);
    return () => {
      document.removeEventListener('pointerdown', onPress);
      removeEventListener('scroll', place);
      removeEventListener('resize', place);
    };
  }, []);
  const close = () => {
    onClose();
    anchor.current?.focus();
  };
  return (
    <div
      ref={panel}
      popover="manual"
      role="dialog"
      aria-label={label}
      class="popover"
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        event.preventDefault();
        event.stopPropagation();
        close();
      }}
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget instanceof Node && !panel.current?.contains(relatedTarget)) onClose();
      }}
    >
      {children}
    </div>
  );
}
