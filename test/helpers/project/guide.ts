import { readFileSync } from 'node:fs';
import { build } from 'esbuild';

/** How to treat a block of a guide, as specified by the comment above it. */
export interface Marks {
  /** Why the block cannot be run in a test. It is only parsed. */
  notRun?: string;
  /** The only engine on which the block is run. */
  engine?: 'embedded' | 'postgres';
  /** The service is stopped before the block and started again after it. */
  whileStopped?: true;
  /** For variables: the service is restarted with these variables. */
  restart?: true;
  /** For JSON or text: an example that is not the output of the block before it. */
  sample?: true;
  /** The block quotes this file, or a part of it. */
  file?: string;
}

/** A fenced block of a guide. */
export interface Block extends Marks {
  language: string;
  text: string;
  /** Where it begins, for error messages. */
  place: string;
  /** The expected output: the block of JSON or text that follows. */
  answer?: { language: 'json' | 'text'; text: string };
}

const fence = /^```(\S*)$/;
const comment = /^<!-- (.+) -->$/;

/**
 * Returns the fenced blocks of a guide in order, each with the marks from the comment on the line above it. The marks
 * are `<!-- not run: why -->`, `<!-- on embedded -->`, `<!-- on postgres -->`, `<!-- while stopped -->`,
 * `<!-- restart -->`, `<!-- sample -->`, and `<!-- file: path -->`. A comment may contain several of them, separated by
 * semicolons.
 */
export function readGuide(file: string): Block[] {
  const blocks: Block[] = [];
  const lines = readFileSync(file, 'utf8').split('\n');
  let open: Block | undefined;
  let body: string[] = [];
  for (const [index, line] of lines.entries()) {
    const [, language] = fence.exec(line) ?? [];
    if (/^\s+(```|~~~)|^~~~/.test(line))
      throw new Error(`${file}:${index + 1}: blocks must start with \`\`\` at the left margin`);
    if (language === undefined) {
      if (open) body.push(line);
      continue;
    }
    const place = `${file}:${index + 1}`;
    if (!open) {
      open = { language, text: '', place, ...marksOf(lines[index - 1] ?? '', place) };
      body = [];
      continue;
    }
    add(blocks, { ...open, text: `${body.join('\n')}\n` });
    open = undefined;
  }
  if (open) throw new Error(`${open.place}: the block is not closed`);
  return blocks;
}

/**
 * Bundles a block of TypeScript with its libraries, for a page: a script that defines `guide` with what the block exports.
 * @param text part of the block
 * @param replacements values that a reader inserts
 */
export async function bundleOf(file: string, text: string, replacements: Record<string, string> = {}): Promise<string> {
  const blocks = readGuide(file).filter((block) => block.language === 'ts' && block.text.includes(text));
  if (blocks.length !== 1) throw new Error(`${file} has ${blocks.length} blocks of TypeScript with ${text}`);
  const contents = Object.entries(replacements).reduce(
    (code, [written, meant]) => code.replaceAll(written, meant),
    blocks[0]?.text ?? '',
  );
  const { outputFiles } = await build({
    stdin: { contents, loader: 'ts', resolveDir: process.cwd() },
    bundle: true,
    format: 'iife',
    globalName: 'guide',
    write: false,
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}

/** Adds a block, or adds its text as the expected output of the previous block. */
function add(blocks: Block[], block: Block): void {
  const { language, text, place } = block;
  if ((language !== 'json' && language !== 'text') || block.sample) {
    blocks.push(block);
    return;
  }
  const asked = blocks.at(-1);
  if (!asked || asked.answer) throw new Error(`${place}: no previous block can have this output`);
  asked.answer = { language, text };
}

function marksOf(line: string, place: string): Marks {
  const [, said] = comment.exec(line) ?? [];
  if (said === undefined) return {};
  return Object.assign({}, ...said.split('; ').map((mark) => markOf(mark, place)));
}

function markOf(mark: string, place: string): Marks {
  const [, notRun] = /^not run: (.{10,})$/.exec(mark) ?? [];
  if (notRun !== undefined) return { notRun };
  const [, file] = /^file: (\S+)$/.exec(mark) ?? [];
  if (file !== undefined) return { file };
  if (mark === 'on embedded' || mark === 'on postgres')
    return { engine: mark === 'on embedded' ? 'embedded' : 'postgres' };
  if (mark === 'while stopped') return { whileStopped: true };
  if (mark === 'restart' || mark === 'sample') return { [mark]: true };
  throw new Error(`${place}: unknown mark "${mark}"`);
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const moment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/**
 * Whether an output matches the one in the guide. `…` stands for any text, the rest of a list, or additional keys. Any
 * UUID matches any other UUID, and any timestamp matches any other timestamp.
 */
export function isAsShown({ language, text }: NonNullable<Block['answer']>, answer: string): boolean {
  if (language === 'text') return patternOf(text.trim()).test(answer.trim());
  return fits(jsonValues(text), jsonValues(answer));
}

function fits(shown: unknown, value: unknown): boolean {
  if (typeof shown === 'string' && typeof value === 'string') {
    return [uuid, moment].some((form) => form.test(shown) && form.test(value)) || patternOf(shown).test(value);
  }
  if (Array.isArray(shown)) {
    if (!Array.isArray(value)) return false;
    const isOpen = shown.at(-1) === '…';
    const items = isOpen ? shown.slice(0, -1) : shown;
    if (isOpen ? value.length < items.length : value.length !== items.length) return false;
    return items.every((item, index) => fits(item, value[index]));
  }
  if (isRecord(shown)) {
    if (!isRecord(value)) return false;
    const { '…': rest, ...fields } = shown;
    const hasOthers = Object.keys(value).some((key) => !Object.hasOwn(fields, key));
    if (hasOthers && rest === undefined) return false;
    return Object.entries(fields).every(([key, field]) => Object.hasOwn(value, key) && fits(field, value[key]));
  }
  return shown === value;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const patternOf = (shown: string) =>
  new RegExp(
    `^${shown
      .split('…')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('[\\s\\S]*?')}$`,
  );

/**
 * Parses a text of consecutive JSON values. No whitespace is required between them, because responses do not end with
 * a line break.
 */
export function jsonValues(text: string): unknown[] {
  const values: unknown[] = [];
  for (let rest = text.trim(); rest !== ''; ) {
    const length = lengthOfValue(rest);
    values.push(JSON.parse(rest.slice(0, length)));
    rest = rest.slice(length).trimStart();
  }
  return values;
}

/** The length of the first value in a text. */
function lengthOfValue(text: string): number {
  let depth = 0;
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]|[^\s"[\]{},:]+|[,:]/g)) {
    const [token] = match;
    if (token === '{' || token === '[') depth++;
    if (token === '}' || token === ']') depth--;
    if (depth === 0) return match.index + token.length;
  }
  return text.length;
}
