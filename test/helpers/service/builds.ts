import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Test } from 'tap';
import { addMigration, type NewMigration } from '../database/migrations.js';
import { atEndOf } from '../runner/teardown.js';
import { serverFile } from './service.js';

/** The folders of a build that a service does not need. */
const unneeded = new Set(['test', 'bench', 'scripts']);

/** Creates a newer build of the service, with one more migration. Returns its server file. It is removed when the test ends. */
export function createNewerBuild(t: Test, migration: NewMigration): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-newer-'));
  atEndOf(t, () => rmSync(folder, { recursive: true, force: true }));
  const dist = dirname(serverFile);
  cpSync(dist, join(folder, 'dist'), {
    recursive: true,
    filter: (source) => !source.endsWith('.map') && !unneeded.has(source.slice(dist.length + 1)),
  });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  addMigration(join(folder, 'dist/db/migrations'), migration);
  return join(folder, 'dist/server.js');
}

/** The newest migration of this build. */
export function newestMigration(): string {
  return JSON.parse(readFileSync('db/migrations/meta/_journal.json', 'utf8')).entries.at(-1).tag;
}
