// @suite embedded-only: reads the sources and pages

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';

/** All documents, each without its code blocks. */
const documents = new Map(
  ['.', ...foldersOf('.')]
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((path) => path.endsWith('.md'))
    .map((path) => [path, readFileSync(path, 'utf8').replace(/^( *)```[\s\S]*?^\1```$/gm, '')]),
);

/** The folders in a folder, at any depth, without packages and generated files. */
function foldersOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^(\..*|node_modules|dist)$/.test(entry.name))
    .map(({ name }) => join(folder, name))
    .flatMap((path) => [path, ...foldersOf(path)]);
}

/** The anchors of a document: its headings, as GitHub and most other renderers derive them. */
function anchorsIn(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of text.matchAll(/^#+ (.+)$/gm)) {
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    anchors.add(words.replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-'));
  }
  return anchors;
}

t.test('every link to a file of the project leads to a file and a heading that exist', async (t) => {
  const anchors = new Map([...documents].map(([path, text]) => [path, anchorsIn(text)]));
  let links = 0;
  for (const [document, text] of documents) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      links++;
      const [file = '', anchor] = target.split('#');
      const path = file === '' ? document : join(dirname(document), file);
      t.ok(existsSync(path), `${document}: ${target}`);
      if (anchor !== undefined) t.ok(anchors.get(path)?.has(anchor), `${document}: ${target}`);
    }
  }
  t.ok(links > 200, `${links} links`);
});
