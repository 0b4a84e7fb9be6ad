import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { Dialog } from '../components/dialog.js';
import { t } from '../texts.js';
import { useAccess } from './access.js';
import { showPalette } from './palette.js';
import { screenShortcuts } from './screen-shortcuts.js';
import { screens } from './screens.js';

/** Milliseconds between the keys of a sequence such as `g u`. */
const sequenceMs = 1_000;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest('input:not([type=checkbox]), textarea, select, [contenteditable], [role=dialog]') !== null;

/** The keyboard shortcuts, and the dialog that lists them. */
export function Shortcuts() {
  const access = useAccess();
  const [, navigate] = useLocation();
  const [isHelpOpen, setIsHelpOpen] = useState(false);
  const places = screens.flatMap(({ entry, paths, isOpenTo }) =>
    entry && isOpenTo(access) ? [{ key: entry.key, text: t(entry.text), href: paths[0] }] : [],
  );
  useEffect(() => {
    let startedAt = 0;
    const onKeyDown = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        if (!document.querySelector('dialog[open]')) showPalette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector('dialog[open]')) return;
      const isSecond = Date.now() - startedAt < sequenceMs;
      startedAt = 0;
      const place = isSecond ? places.find(({ key }) => key === event.key) : undefined;
      if (place) navigate(place.href);
      else if (event.key === 'g') startedAt = Date.now();
      else if (event.key === '?') setIsHelpOpen(true);
      else if (event.key === '/') {
        const field = document.querySelector<HTMLElement>('[data-search]');
        if (!field) return;
        field.focus();
      } else {
        const own = screenShortcuts().find(({ key }) => key === event.key);
        if (!own) return;
        own.run();
      }
      event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  });
  if (!isHelpOpen) return null;
  const own = screenShortcuts().map(({ key, text }) => [key, text]);
  const general = [
    ['Ctrl K', t('shortcut_palette')],
    ['/', t('shortcut_search')],
    ['?', t('shortcut_help')],
    ['↑ ↓', t('shortcut_rows')],
  ];
  return (
    <Dialog title={t('shortcuts_title')} onClose={() => setIsHelpOpen(false)}>
      <dl class="shortcuts">
        {[...general, ...own, ...places.map(({ key, text }) => [`g ${key}`, text])].map(([keys, text]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
