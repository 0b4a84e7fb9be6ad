import { type Colour, contrast as contrastOf, parseColour } from '../platform/color-contrast.js';

/** What the built-in templates wear when the project has no colour, or one that mail clients may not know. */
const defaultColor = '#2f5bea';

/** The card that the button stands on, light and dark, as `templates/layout.html.liquid` has it. */
const surfaces = ['#ffffff', '#181b21'];

export interface Branding {
  /** `#rrggbb`. */
  color: string;
  /** Black or white, whichever reads better on that colour. */
  color_text: string;
  /** That colour, or a grey when it could not be told from the light or the dark card. */
  color_border: string;
  /** An http or https URL. */
  logo: string | null;
}

/** Takes of a project's settings what is safe to put into a style or an image. */
export function brandingOf(project: { color: string | null; logo: string | null }): Branding {
  const color = hexColor(project.color) ?? defaultColor;
  const isLost = surfaces.some((surface) => contrast(color, surface) < 1.5);
  return {
    color,
    color_text: contrast(color, '#ffffff') >= contrast(color, '#000000') ? '#ffffff' : '#000000',
    color_border: isLost ? '#7b828d' : color,
    logo: webUrl(project.logo),
  };
}

/** `#abc` and `#aabbcc` as `#aabbcc`; all else is refused. */
function hexColor(text: string | null): string | undefined {
  const digits = text
    ?.trim()
    .match(/^#([0-9a-f]{3}|[0-9a-f]{6})$/i)?.[1]
    ?.toLowerCase();
  return digits && `#${digits.length === 3 ? digits.replace(/./g, '$&$&') : digits}`;
}

function webUrl(text: string | null): string | null {
  if (!text || !URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return protocol === 'https:' || protocol === 'http:' ? href : null;
}

const contrast = (one: string, other: string): number => contrastOf(parsed(one), parsed(other));

function parsed(color: string): Colour {
  const found = parseColour(color);
  if (!found) throw new Error(`${color} is no colour.`);
  return found;
}
