import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A migration that a test adds to the ones of this build. */
export interface NewMigration {
  tag: string;
  sql: string;
}

/** Adds a migration to a folder of migrations, as the newest one. */
export function addMigration(folder: string, { tag, sql }: NewMigration): void {
  const file = join(folder, 'meta/_journal.json');
  const journal = JSON.parse(readFileSync(file, 'utf8'));
  const last = journal.entries.at(-1);
  journal.entries.push({ ...last, idx: last.idx + 1, when: last.when + 1_000, tag });
  writeFileSync(file, JSON.stringify(journal));
  writeFileSync(join(folder, `${tag}.sql`), sql);
}
