import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';

/** The anchors of a Markdown document: its headings, as GitHub and most other renderers derive them. */
function anchorsIn(path: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of proseOf(path).matchAll(/^#+ (.+)$/gm)) {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    anchors.add(text.replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-'));
  }
  return anchors;
}

/** A document without its code blocks. */
const proseOf = (path: string) => readFileSync(path, 'utf8').replace(/^( *)```[\s\S]*?^\1```$/gm, '');

t.test('every link to a file of the project leads to a file and a heading that exist', async (t) => {
  const documents = execFileSync('git', ['ls-files', '*.md'], { encoding: 'utf8' }).trim().split('\n');
  let links = 0;
  for (const document of documents) {
    for (const [, target = ''] of proseOf(document).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      links++;
      const [file = '', anchor] = target.split('#');
      const path = file === '' ? document : join(dirname(document), file);
      t.ok(existsSync(path), `${document}: ${target}`);
      if (anchor !== undefined) t.ok(anchorsIn(path).has(anchor), `${document}: ${target}`);
    }
  }
  t.ok(links > 200, `${links} links`);
});
