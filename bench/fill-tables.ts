import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Replaces what is between `<!-- measured: name -->` and `<!-- end -->` in a document.
 * @param tables the new contents, by name
 * @throws if a name is only in the document, or only in `tables`
 */
export function fillTables(file: string, tables: Readonly<Record<string, string>>): void {
  const left = new Set(Object.keys(tables));
  const text = readFileSync(file, 'utf8').replaceAll(
    /(<!-- measured: (.+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, start: string, name: string, end: string) => {
      left.delete(name);
      const written = tables[name];
      if (written === undefined) throw new Error(`There are no results for "${name}" in ${file}.`);
      return `${start}\n${written}\n\n${end}`;
    },
  );
  if (left.size > 0) throw new Error(`${file} has no place for: ${[...left].join(', ')}`);
  writeFileSync(file, text);
}
