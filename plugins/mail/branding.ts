import { parseUrl } from '../../schemas/common.js';
import { type Color, contrast as contrastOf, parseColor } from '../platform/color-contrast.js';

/** The color of the built-in templates if the project has none, or one in a format that email clients may not support. */
const defaultColor = '#2f5bea';

/** The light and dark background of the card behind the button, as defined in `templates/layout.html.liquid`. */
const surfaces = ['#ffffff', '#181b21'];

export interface Branding {
  /** `#rrggbb`. */
  color: string;
  /** Black or white, whichever has the better contrast with that color. */
  color_text: string;
  /** That color, or gray if it has too little contrast with the light or the dark card. */
  color_border: string;
  /** An http or https URL. */
  logo: string | null;
}

/** Converts a project's settings to values that are safe in a style or as an image URL. */
export function brandingOf(project: { color: string | null; logo: string | null }): Branding {
  const color = hexColor(project.color) ?? defaultColor;
  const hasLowContrast = surfaces.some((surface) => contrast(color, surface) < 1.5);
  return {
    color,
    color_text: contrast(color, '#ffffff') >= contrast(color, '#000000') ? '#ffffff' : '#000000',
    color_border: hasLowContrast ? '#7b828d' : color,
    logo: webUrl(project.logo),
  };
}

/** Converts `#abc` and `#aabbcc` to `#aabbcc`. Undefined: the text has another format. */
function hexColor(text: string | null): string | undefined {
  const digits = text
    ?.trim()
    .match(/^#([0-9a-f]{3}|[0-9a-f]{6})$/i)?.[1]
    ?.toLowerCase();
  return digits && `#${digits.length === 3 ? digits.replace(/./g, '$&$&') : digits}`;
}

function webUrl(text: string | null): string | null {
  const url = parseUrl(text ?? '');
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : null;
}

const contrast = (a: string, b: string): number => contrastOf(parsed(a), parsed(b));

function parsed(color: string): Color {
  const found = parseColor(color);
  if (!found) throw new Error(`${color} is not a valid color.`);
  return found;
}
