import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A migration of this build. */
export interface BuildMigration {
  tag: string;
  /** Milliseconds since 1970: the order of migrations, and their key in the database. */
  createdAt: number;
  /** The migration that a build must contain to work with the tables that this one leaves behind; null: no older build can. */
  worksWith: string | null;
}

/**
 * The migrations of a folder, oldest first. If older builds can work with the tables after a migration, its first line says so, for
 * example `-- Works with builds since 0000_initial.`
 */
export function readBuildMigrations(folder: string): BuildMigration[] {
  const { entries } = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8')) as {
    entries: { when: number; tag: string }[];
  };
  return entries.map(({ when, tag }) => {
    const [, worksWith = null] =
      /^-- Works with builds since (\w+)\.\n/.exec(readFileSync(join(folder, `${tag}.sql`), 'utf8')) ?? [];
    return { tag, createdAt: when, worksWith };
  });
}
