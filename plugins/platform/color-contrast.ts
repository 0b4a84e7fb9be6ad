/** Red, green and blue, each from 0 to 255. */
export type Color = readonly [number, number, number];

const black: Color = [0, 0, 0];
const white: Color = [255, 255, 255];

/** Parses a color in a numeric CSS format: `#rgb`, `#rrggbb`, `rgb(…)`, `hsl(…)`. Opacity is ignored. */
export function parseColor(text: string): Color | undefined {
  const value = text.trim().toLowerCase();
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])[0-9a-f]?$/.exec(value);
  if (short) return triple(short.slice(1).map((digit) => Number.parseInt(digit + digit, 16)));
  const long = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})(?:[0-9a-f]{2})?$/.exec(value);
  if (long) return triple(long.slice(1).map((digits) => Number.parseInt(digits, 16)));
  const [, form, list = ''] = /^(rgb|hsl)a?\(([^()]*)\)$/.exec(value) ?? [];
  const parts = list.split(/[\s,/]+/).filter(Boolean);
  if (parts.length < 3 || parts.length > 4) return undefined;
  if (form === 'rgb' && parts.slice(0, 3).every((part) => /^\d+(\.\d+)?%?$/.test(part))) {
    return triple(parts.slice(0, 3).map((part) => Number.parseFloat(part) * (part.endsWith('%') ? 2.55 : 1)));
  }
  const [hue = '', saturation = '', lightness = ''] = parts;
  if (
    form === 'hsl' &&
    /^\d+(\.\d+)?(deg)?$/.test(hue) &&
    [saturation, lightness].every((p) => /^\d+(\.\d+)?%?$/.test(p))
  )
    return fromHsl(Number.parseFloat(hue), Number.parseFloat(saturation), Number.parseFloat(lightness));
  return undefined;
}

/** @param hue in degrees; `saturation` and `lightness` in percent */
function fromHsl(hue: number, saturation: number, lightness: number): Color {
  const [s, l] = [Math.min(saturation, 100) / 100, Math.min(lightness, 100) / 100];
  const channel = (offset: number) => {
    const position = (offset + hue / 30) % 12;
    return 255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(position - 3, 9 - position, 1)));
  };
  return triple([channel(0), channel(8), channel(4)]);
}

function triple([red = 0, green = 0, blue = 0]: readonly number[]): Color {
  const clamp = (value: number) => Math.min(255, Math.round(value));
  return [clamp(red), clamp(green), clamp(blue)];
}

export const toHex = (color: Color): string => color.map((value) => value.toString(16).padStart(2, '0')).join('');

/** Relative luminance (WCAG 2.2). */
function luminance(color: Color): number {
  const [red = 0, green = 0, blue = 0] = color.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Contrast ratio (WCAG 2.2), from 1 to 21. */
export function contrast(one: Color, other: Color): number {
  const [lighter = 0, darker = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (lighter + 0.05) / (darker + 0.05);
}

/** The contrast ratio that people with low vision need to read text (WCAG 2.2, 1.4.3). */
const readable = 4.5;

/** The closest shade of a color that is readable on all surfaces. */
export function readableOn(color: Color, surfaces: readonly Color[]): Color {
  const isLight = surfaces.every((surface) => luminance(surface) > 0.5);
  for (let share = 0; share < 1; share += 0.02) {
    const shade = mix(color, isLight ? black : white, share);
    if (surfaces.every((surface) => contrast(shade, surface) >= readable)) return shade;
  }
  return isLight ? black : white;
}

/** The text color for a background: white if it is readable, otherwise black. */
export const textOn = (color: Color): Color => (contrast(white, color) >= readable ? white : black);

const mix = (color: Color, other: Color, share: number): Color =>
  triple(color.map((value, index) => value + ((other[index] ?? 0) - value) * share));
