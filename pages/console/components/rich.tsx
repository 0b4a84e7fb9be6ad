import type { ComponentChildren } from 'preact';
import { type TextKey, t } from '../texts.js';

interface Props {
  text: TextKey;
  values: Readonly<Record<string, ComponentChildren>>;
}

/** A text whose placeholders are filled with elements, such as links. */
export function Rich({ text, values }: Props) {
  const mark = '\u0001';
  const marked = t(text, Object.fromEntries(Object.keys(values).map((name) => [name, `${mark}${name}${mark}`])));
  return <>{marked.split(mark).map((part, index) => (index % 2 === 0 ? part : values[part]))}</>;
}
