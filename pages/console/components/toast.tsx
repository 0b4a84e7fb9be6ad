import { useEffect, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { t } from '../texts.js';
import { Button } from './button.js';

interface Toast {
  text: string;
  /** Where the user can see the result. */
  link?: { href: string; text: string };
  /** Takes the change back, where the API allows it. */
  undo?: () => Promise<unknown>;
}

/** Milliseconds. Longer if there is something to press. */
const shownForMs = 6_000;
const shownWithActionForMs = 30_000;

let show: (toast: Toast | undefined) => void = () => {};

/** Reports a result that the server has confirmed. */
export const toast = (text: string, more: Omit<Toast, 'text'> = {}): void => show({ text, ...more });

/** The place of the messages. It is part of the page from the beginning, because screen readers announce changes only in known regions. */
export function Toasts() {
  const [current, setCurrent] = useState<Toast>();
  useEffect(() => {
    show = setCurrent;
  }, []);
  useEffect(() => {
    if (!current) return;
    const timer = setTimeout(
      () => setCurrent(undefined),
      current.link || current.undo ? shownWithActionForMs : shownForMs,
    );
    return () => clearTimeout(timer);
  }, [current]);
  return (
    <div class="toasts" role="status">
      {current && (
        <div class="toast-message">
          <span>{current.text}</span>
          {current.link && <Link href={current.link.href}>{current.link.text}</Link>}
          {current.undo && (
            <Button kind="quiet" onPress={() => current.undo?.().then(() => setCurrent({ text: t('undone') }))}>
              {t('undo')}
            </Button>
          )}
          <Button kind="quiet" icon="close" label={t('close')} onPress={() => setCurrent(undefined)} />
        </div>
      )}
    </div>
  );
}
