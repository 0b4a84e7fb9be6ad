import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** A place in the sources, described by the code that is there. */
export interface Code {
  /** The code, compared token by token: line breaks, spaces, comments, quotation marks, and trailing commas do not matter. */
  find: string;
  /** The name of the function, constant, or type that contains the code. Required if the code occurs more than once. */
  in?: string;
  /** A file or folder that contains the code. Required only if `in` is not enough. */
  under?: string;
}

export interface Place {
  /** The path from the root of the repository. */
  file: string;
  start: number;
  end: number;
}

interface Token {
  text: string;
  start: number;
  end: number;
}

interface Range {
  start: number;
  end: number;
}

const folders = ['schemas', 'db', 'plugins', 'routes', 'pages'];
const endings = /\.(ts|sql|liquid|css)$/;

/** Words, and every other character separately. Both kinds of quotation marks count as the same. */
function tokensOf(text: string, offset = 0): Token[] {
  return [...text.matchAll(/[\p{L}\p{N}_$]+|\S/gu)].map(({ 0: word, index }) => ({
    text: word === '"' ? "'" : word,
    start: offset + index,
    end: offset + index + word.length,
  }));
}

/** The tokens of a TypeScript file, without comments, and the ranges of its declarations by name. */
function parse(file: string, text: string): { tokens: Token[]; declarations: Map<string, Range[]> } {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const tokens: Token[] = [];
  const declarations = new Map<string, Range[]>();
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return;
    const { name } = node as { name?: ts.Node };
    if (name && !ts.isParameter(node) && !ts.isPropertyAccessExpression(node)) {
      const key = name.getText(source).replaceAll(/^['"]|['"]$/g, '');
      declarations.set(key, [...(declarations.get(key) ?? []), { start: node.getStart(source), end: node.end }]);
    }
    const children = node.getChildren(source);
    for (const child of children) visit(child);
    if (children.length === 0) tokens.push(...tokensOf(node.getText(source), node.getStart(source)));
  };
  visit(source);
  return { tokens, declarations };
}

/**
 * Compares tokens with a pattern. The formatter adds a comma after the last element of a list when it moves the list to several
 * lines, so such commas may be missing on either side.
 * @returns how many tokens of the pattern match, and the index after the last token that does
 */
function compare(tokens: readonly Token[], start: number, pattern: readonly Token[]) {
  const isTrailing = (list: readonly Token[], index: number) =>
    list[index]?.text === ',' && /^[)\]}]$/.test(list[index + 1]?.text ?? '}');
  let index = start;
  let matched = 0;
  while (matched < pattern.length) {
    if (tokens[index]?.text === pattern[matched]?.text) {
      index++;
      matched++;
    } else if (index > start && isTrailing(tokens, index)) index++;
    else if (isTrailing(pattern, matched) && /^[)\]}]$/.test(tokens[index]?.text ?? '')) matched++;
    else break;
  }
  return { matched, index };
}

/** The sources of the service, in which code can be found and replaced. @param root the root of the repository */
export function openSources(root = '.') {
  const names = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  );
  const texts = new Map(
    ['app.ts', 'server.ts', ...names.filter((name) => endings.test(name)).sort()].map((file) => [
      file,
      readFileSync(join(root, file), 'utf8'),
    ]),
  );
  const originals = new Map(texts);
  const parsed = new Map<string, ReturnType<typeof parse>>();

  function parsedOnce(file: string, text: string) {
    const known = parsed.get(file);
    if (known) return known;
    const result = file.endsWith('.ts') ? parse(file, text) : { tokens: tokensOf(text), declarations: new Map() };
    parsed.set(file, result);
    return result;
  }

  function placesIn(file: string, text: string, pattern: readonly Token[], name?: string): Place[] {
    const { tokens, declarations } = parsedOnce(file, text);
    const ranges: readonly Range[] =
      name === undefined ? [{ start: 0, end: text.length }] : (declarations.get(name) ?? []);
    return tokens.flatMap(({ start }, index) => {
      const found = compare(tokens, index, pattern);
      if (found.matched < pattern.length) return [];
      const end = tokens[found.index - 1]?.end ?? start;
      return ranges.some((range) => range.start <= start && end <= range.end) ? [{ file, start, end }] : [];
    });
  }

  /** All places that match a description. */
  function places({ find, in: name, under = '' }: Code): Place[] {
    const pattern = tokensOf(find);
    const words = pattern.map(({ text }) => text).filter((text) => text.length > 1);
    if (pattern.length === 0) throw new Error('No code is given to look for.');
    return [...texts]
      .filter(([file]) => file === under || under === '' || file.startsWith(`${under}/`))
      .filter(([, text]) => words.every((word) => text.includes(word)))
      .flatMap(([file, text]) => placesIn(file, text, pattern, name));
  }

  const lineOf = ({ file, start }: Place) => `${file}:${texts.get(file)?.slice(0, start).split('\n').length}`;

  /** The place that matches the longest beginning of the code, and that beginning. */
  function closest(find: string): string {
    const pattern = tokensOf(find);
    let best = { length: 0, place: '' };
    for (const [file, text] of texts) {
      const { tokens } = parsedOnce(file, text);
      for (const [index, { start }] of tokens.entries()) {
        const { matched: length } = compare(tokens, index, pattern);
        if (length > best.length) best = { length, place: lineOf({ file, start, end: start }) };
      }
    }
    const same = find.slice(0, pattern[best.length - 1]?.end ?? 0);
    return same ? `The longest beginning that does is at ${best.place}: ${same}` : 'Not even its first word does.';
  }

  /** The only place that matches a description. @throws an error that says how to correct the description */
  function locate(code: Code): Place {
    const found = places(code);
    const [place] = found;
    if (place && found.length === 1) return place;
    const where = [code.in && `in ${code.in}`, code.under && `under ${code.under}`].filter(Boolean).join(' ');
    if (place) {
      const lines = found.map(lineOf).join(', ');
      throw new Error(
        `This code occurs ${found.length} times (${lines}); name its declaration with \`in\`: ${code.find}`,
      );
    }
    const elsewhere = where ? places({ find: code.find }).map(lineOf) : [];
    throw new Error(
      elsewhere.length > 0
        ? `This code does not occur ${where}, but at ${elsewhere.join(', ')}; correct \`in\` or \`under\`: ${code.find}`
        : `This code no longer occurs; write the same fault for the code that replaced it: ${code.find}\n${closest(code.find)}`,
    );
  }

  return {
    places,
    locate,
    /** Replaces code and returns the new text of the file. */
    replace(code: Code, replacement: string): { file: string; text: string } {
      const { file, start, end } = locate(code);
      const before = texts.get(file) ?? '';
      const text = before.slice(0, start) + replacement + before.slice(end);
      texts.set(file, text);
      parsed.delete(file);
      return { file, text };
    },
    /** Reverts all replacements. */
    restore(): void {
      for (const [file, text] of originals) {
        if (texts.get(file) === text) continue;
        texts.set(file, text);
        parsed.delete(file);
      }
    },
  };
}
