import { type Color, parseColor, readableOn, textOn, toHex } from '../platform/color-contrast.js';

/** The background colors behind the accent color, as defined in `pages/kit/styles/tokens.css`. */
export const surfaces = {
  light: ['#ffffff', '#f5f6f8'],
  dark: ['#181b21', '#101216'],
} as const;

const namePattern = /^theme-([0-9a-f]{6})\.css$/;

/** The name of the style sheet for a project's color. Undefined: the project has no color, or the service cannot parse it. */
export function themeName(color: string | null): string | undefined {
  const parsed = color === null ? undefined : parseColor(color);
  return parsed && `theme-${toHex(parsed)}.css`;
}

/** The style sheet with that name. It depends only on the name, so that every instance can serve it. Undefined: the name is invalid. */
export function themeCss(name: string): string | undefined {
  const [, hex] = namePattern.exec(name) ?? [];
  const color = hex === undefined ? undefined : parseColor(`#${hex}`);
  if (!color) return undefined;
  const rule = (on: readonly string[]) => {
    const accent = readableOn(color, on.map(parseColor) as Color[]);
    return `:root{--accent:#${toHex(accent)};--on-accent:#${toHex(textOn(accent))}}`;
  };
  return `${rule(surfaces.light)}@media (prefers-color-scheme:dark){${rule(surfaces.dark)}}\n`;
}
