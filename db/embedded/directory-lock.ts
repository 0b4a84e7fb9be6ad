import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Another process is using the data directory. */
export class DirectoryInUseError extends Error {
  constructor(directory: string) {
    super(
      `The data directory ${resolve(directory)} is in use by another Gatehouse process. Two processes would destroy the embedded database. Stop the other one, set a different DATA_DIR for this one, or set DATABASE_URL so that both share a PostgreSQL database.`,
    );
    this.name = 'DirectoryInUseError';
  }
}

/**
 * Acquires the exclusive lock of a data directory, and creates the directory if it is missing. The operating system holds the
 * lock on an open file and releases it when the process ends, even after a crash, so a stale lock is never left behind.
 * @returns a function that releases the lock
 * @throws {DirectoryInUseError}
 */
export async function lockDirectory(directory: string): Promise<() => void> {
  const { tryLock } = await import('fs-native-extensions');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = openSync(join(directory, 'lock'), 'a+', 0o600);
  if (!tryLock(file)) {
    closeSync(file);
    throw new DirectoryInUseError(directory);
  }
  return () => closeSync(file);
}
