import { Liquid, LiquidError } from 'liquidjs';
import type { TemplateSet } from './template-files.js';

/** Limits for one template: characters to parse, milliseconds to render, objects in memory. */
const limits = { parseLimit: 1_000_000, renderLimit: 1_000, memoryLimit: 10_000_000 };

/**
 * Templates can include only templates in `set`, never files. A misspelled variable or filter is an error, so that it does not leave
 * a gap in an email. Only conditions can use undefined variables.
 */
export function createEngine(set: TemplateSet, output: 'html' | 'text'): Liquid {
  const sources: Record<string, string> = Object.create(null);
  for (const [name, { source }] of set) sources[name] = source;
  const engine = new Liquid({
    templates: sources,
    cache: true,
    strictVariables: true,
    lenientIf: true,
    strictFilters: true,
    ownPropertyOnly: true,
    ...(output === 'html' ? { outputEscape: 'escape' as const } : {}),
    ...limits,
  });
  if (output === 'html') engine.registerFilter('breakable', { handler: breakable, raw: true });
  return engine;
}

/** Characters. A longer address may not fit on a line of a phone. */
const maxUnbrokenLength = 24;

/** Escapes a text, and lets the lines of long addresses break after `@` and the other separators, instead of in the middle of a word. */
function breakable(text: unknown): string {
  return String(text)
    .split(/(\s+)/)
    .map((word) => {
      const escaped = escapeHtml(word);
      return word.includes('@') && word.length > maxUnbrokenLength
        ? escaped.replace(/[@.+_-](?=.)/g, '$&<wbr>')
        : escaped;
    })
    .join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? character);

interface Token {
  file?: string;
  /** The complete source that contains the token. */
  input: string;
  getPosition(): [line: number, column: number];
}

/** Describes the fault in a template, with its file and line. */
export function explainTemplateError(error: unknown, set: TemplateSet, asked: string): string {
  const what = error instanceof Error ? error.message : String(error);
  const token = LiquidError.is(error) ? (error as LiquidError & { token?: Token }).token : undefined;
  const file = token ? (token.file ?? fileOf(token.input, set, asked)) : asked;
  const path = set.get(file)?.path ?? file;
  if (what.startsWith('Maximum call stack')) return `${path}: it includes itself endlessly or is nested too deeply`;
  const plain = inPlainWords(what.replace(/(, file:.*)?, line:\d+, col:\d+$/s, ''));
  return token ? `${path}, line ${token.getPosition()[0]}: ${plain}` : `${path}: ${plain}`;
}

/** For an undefined variable, Liquid reports only the source and not the file. */
function fileOf(source: string, set: TemplateSet, asked: string): string {
  if (set.get(asked)?.source === source) return asked;
  return [...set].find(([, template]) => template.source === source)?.[0] ?? asked;
}

function inPlainWords(what: string): string {
  const missing = /^ENOENT: .*?"(.*)" in /s.exec(what)?.[1];
  if (missing !== undefined) return `there is no template ${JSON.stringify(missing)}`;
  if (what === 'template render limit exceeded') return 'rendering takes longer than a second';
  if (what === 'memory alloc limit exceeded') return 'rendering uses too much memory';
  return what;
}
