import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';

/** Creates a folder with the migrations that precede the given one. */
export async function migrationsBefore(t: Test, tag: string): Promise<string> {
  const folder = t.testdir();
  await cp('db/migrations', folder, { recursive: true });
  const file = join(folder, 'meta/_journal.json');
  const journal = JSON.parse(await readFile(file, 'utf8'));
  journal.entries = journal.entries.filter((entry: { tag: string }) => entry.tag < tag);
  await writeFile(file, JSON.stringify(journal));
  return folder;
}
