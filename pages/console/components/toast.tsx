import { useEffect, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { ApiFailure } from '../../kit/api-failure.js';
import { t } from '../texts.js';
import { Button } from './button.js';
import { Failure } from './failure.js';

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

/**
 * The place of the messages. It is part of the page from the beginning, because screen readers announce changes only in known regions. It
 * also reports every failure that is reported nowhere else, such as that of a button or of an undo, until the user closes it or acts again.
 */
export function Toasts() {
  const [current, setCurrent] = useState<Toast>();
  const [failure, setFailure] = useState<unknown>();
  useEffect(() => {
    show = (next) => {
      setFailure(undefined);
      setCurrent(next);
    };
    const onFailure = (event: PromiseRejectionEvent) => {
      setFailure(event.reason);
      // Other errors are faults of the console, which the browser logs.
      if (event.reason instanceof ApiFailure) event.preventDefault();
    };
    addEventListener('unhandledrejection', onFailure);
    return () => removeEventListener('unhandledrejection', onFailure);
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
    <div class="toasts">
      <Failure failure={failure} close={() => setFailure(undefined)} />
      <div role="status">
        {current && (
          <div class="toast-message">
            <span>{current.text}</span>
            {current.link && <Link href={current.link.href}>{current.link.text}</Link>}
            {current.undo && (
              <Button kind="quiet" onPress={() => current.undo?.().then(() => show({ text: t('undone') }))}>
                {t('undo')}
              </Button>
            )}
            <Button kind="quiet" icon="close" label={t('close')} onPress={() => setCurrent(undefined)} />
          </div>
        )}
      </div>
    </div>
  );
}
