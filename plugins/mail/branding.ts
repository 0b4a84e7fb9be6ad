const standard = '#2b5fd9';

/** The project's colour, if it is one: `#rgb` or `#rrggbb`. */
export function colorOf(color: string | null): string {
  const [, short, long] = /^#(?:([0-9a-f]{3})|([0-9a-f]{6}))$/i.exec(color ?? '') ?? [];
  if (long) return `#${long.toLowerCase()}`;
  return short ? `#${[...short.toLowerCase()].map((digit) => digit + digit).join('')}` : standard;
}

/** Black or white, whichever reads better on a colour (WCAG 2.2, relative luminance). */
export function inkOn(color: string): '#000000' | '#ffffff' {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const share = Number.parseInt(color.slice(start, start + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? '#000000' : '#ffffff';
}

/** The project's logo, if it is at a place of the web. */
export function logoOf(logo: string | null): string | null {
  return logo !== null && URL.canParse(logo) && /^https?:$/.test(new URL(logo).protocol) ? logo : null;
}
