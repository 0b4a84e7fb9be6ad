import type { PairedResult } from './paired.js';

const [width, left, line, top] = [820, 330, 46, 56];
const title = 'Share of the floor (dashed: target; line: lowest to highest round)';
const asText = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');

/** A bar for each case: the share of the floor that the service reaches, with the target and the spread of the rounds. */
export function chart(results: readonly PairedResult[]): string {
  const scale = (width - left - 60) / Math.max(1, ...results.map(({ ratio }) => ratio.highest));
  const at = (share: number) => (left + share * scale).toFixed(1);
  const bars = results.map(({ name, ratio, target }, index) => {
    const y = top + index * line;
    const color = ratio.median >= target ? '#2f7d4f' : '#b4552d';
    return `<text x="${left - 12}" y="${y + 16}" text-anchor="end">${asText(name.length > 44 ? `${name.slice(0, 43)}…` : name)}</text>
<rect x="${left}" y="${y}" width="${(ratio.median * scale).toFixed(1)}" height="22" rx="2" fill="${color}"/>
<path d="M${at(ratio.lowest)} ${y + 11}H${at(ratio.highest)}" stroke="#1b1b1b" stroke-width="2"/>
<path d="M${at(target)} ${y - 5}v32" stroke="#1b1b1b" stroke-dasharray="3 3"/>
<text x="${at(Math.max(ratio.highest, target))}" dx="8" y="${y + 16}">${(ratio.median * 100).toFixed(0)}%</text>`;
  });
  const height = top + results.length * line + 8;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="14" role="img">
<title>${title}</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="16" y="28" font-size="16" font-weight="600">${title}</text>
${bars.join('\n')}
</svg>
`;
}

interface Point {
  x: number;
  y: number;
}

/** A line through the points, with both axes in multiples of the capacity, and a dashed line at the target. */
export function lineChart(title: string, xTitle: string, points: readonly Point[], target: number): string {
  const [height, margin, bottom] = [420, 70, 370];
  const right = Math.max(...points.map(({ x }) => x));
  const highest = 1.2;
  const atX = (x: number) => (margin + (x / right) * (width - margin - 30)).toFixed(1);
  const atY = (y: number) => (bottom - (y / highest) * (bottom - top)).toFixed(1);
  const share = (value: number) => `${(value * 100).toFixed(0)} %`;
  const levels = [0, 0.2, 0.4, 0.6, 0.8, 1, 1.2].map(
    (y) =>
      `<path d="M${margin} ${atY(y)}H${width - 30}" stroke="#ddd"/><text x="${margin - 8}" y="${atY(y)}" dy="5" text-anchor="end">${share(y)}</text>`,
  );
  const marks = points.map(
    ({ x, y }) => `<text x="${atX(x)}" y="${bottom + 20}" text-anchor="middle">${x}</text>
<circle cx="${atX(x)}" cy="${atY(y)}" r="4" fill="#2f7d4f"/><text x="${atX(x)}" y="${atY(y)}" dy="-10" text-anchor="middle" stroke="#fff" stroke-width="4" paint-order="stroke">${share(y)}</text>`,
  );
  const line = points.map(({ x, y }) => `${atX(x)} ${atY(y)}`).join('L');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="14" role="img">
<title>${asText(title)}</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="16" y="28" font-size="16" font-weight="600">${asText(title)}</text>
${levels.join('\n')}
<path d="M${margin} ${atY(target)}H${width - 30}" stroke="#1b1b1b" stroke-dasharray="3 3"/>
<path d="M${line}" fill="none" stroke="#2f7d4f" stroke-width="2"/>
${marks.join('\n')}
<text x="${(margin + width - 30) / 2}" y="${bottom + 42}" text-anchor="middle">${asText(xTitle)}</text>
</svg>
`;
}
