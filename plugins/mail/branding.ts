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

/** Contrast ratio (WCAG 2.2), from 1 to 21. */
function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** Relative luminance (WCAG 2.2), from 0 to 1. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const value = Number.parseInt(color.slice(start, start + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
