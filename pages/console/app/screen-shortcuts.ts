import { useEffect, useRef } from 'preact/hooks';

export interface ScreenShortcut {
  /** As in `KeyboardEvent.key`. */
  key: string;
  text: string;
  run: () => void;
}

let current: readonly ScreenShortcut[] = [];

/** The shortcuts of the screen that is shown. */
export const screenShortcuts = (): readonly ScreenShortcut[] => current;

/** Adds shortcuts while a screen is shown. `?` lists them with the others. */
export function useShortcuts(shortcuts: readonly ScreenShortcut[]): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    current = shortcuts.map((shortcut, index) => ({ ...shortcut, run: () => latest.current[index]?.run() }));
    return () => {
      current = [];
    };
  }, []);
}
