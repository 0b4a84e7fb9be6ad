// @suite embedded-only: hardly depends on the engine

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import { surfaces, themeCss, themeName } from '../../plugins/pages/theme.js';
import { type Color, contrast, parseColor } from '../../plugins/platform/color-contrast.js';

const color = (text = '') => parseColor(text) as Color;

t.test('colors are accepted in every CSS notation', async (t) => {
  for (const [text, expected] of [
    ['#36f', [51, 102, 255]],
    ['#3366FF', [51, 102, 255]],
    [' #3366ff80 ', [51, 102, 255]],
    ['#36f8', [51, 102, 255]],
    ['rgb(51, 102, 255)', [51, 102, 255]],
    ['rgb(51 102 255 / 50%)', [51, 102, 255]],
    ['rgba(20%,40%,100%,1)', [51, 102, 255]],
    ['hsl(225, 100%, 60%)', [51, 102, 255]],
    ['hsl(225deg 100% 60%)', [51, 102, 255]],
    ['hsl(0 0% 100%)', [255, 255, 255]],
  ] as const) {
    t.strictSame(parseColor(text), expected, text);
  }
  for (const text of [
    '',
    '#',
    '#12345',
    '#ggg',
    'rgb()',
    'rgb(1,2)',
    'rgb(a,b,c)',
    'url(x)',
    '#fff;}*{color:red',
    'hsl(1,2)',
  ]) {
    t.equal(parseColor(text), undefined, text);
    t.equal(themeName(text), undefined, text);
  }
  t.equal(themeName(null), undefined);
});

t.test('text in the project color and on it is readable, whatever the color', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffff }), (value) => {
      const css = themeCss(themeName(`#${value.toString(16).padStart(6, '0')}`) ?? '') ?? '';
      const [light, dark] = [...css.matchAll(/--accent:(#\w{6});--on-accent:(#\w{6})/g)];
      for (const [found, on] of [
        [light, surfaces.light],
        [dark, surfaces.dark],
      ] as const) {
        const [accent, text] = [color(found?.[1]), color(found?.[2])];
        for (const surface of on) if (contrast(accent, color(surface)) < 4.5) return false;
        if (contrast(accent, text) < 4.5) return false;
      }
      return true;
    }),
    { examples: [[0], [0xffffff], [0xffff00], [0x0000ff], [0x777777]] },
  );
  t.match(themeCss('theme-1a237e.css'), ':root{--accent:#1a237e;--on-accent:#ffffff}', 'a readable color is kept');
});

t.test('the surfaces match the style sheet', async (t) => {
  const css = readFileSync('pages/kit/styles/tokens.css', 'utf8');
  const found = [...css.matchAll(/--(?:surface|ground): (#\w{6});/g)].map(([, value]) => value);
  t.strictSame(found.sort(), [...surfaces.light, ...surfaces.dark].sort());
});

t.test('emails and pages have the same colors', async (t) => {
  const colorsIn = (text: string) => new Set(text.match(/#[0-9a-f]{6}\b/g));
  const pages = colorsIn(readFileSync('pages/kit/styles/tokens.css', 'utf8'));
  const emails = colorsIn(readFileSync('plugins/mail/templates/layout.html.liquid', 'utf8'));
  t.ok(emails.size > 8);
  t.strictSame(
    [...emails].filter((value) => !pages.has(value)),
    [],
  );
  t.match(readFileSync('plugins/mail/branding.ts', 'utf8'), /defaultColor = '#2f5bea'/);
  t.ok(pages.has('#2f5bea'));
});
