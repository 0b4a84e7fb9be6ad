import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tryLock } from 'fs-native-extensions';

/** Another process works on the data directory. */
export class DirectoryInUseError extends Error {
  constructor(directory: string) {
    super(
      `The data directory ${resolve(directory)} is in use by another Gatehouse process. Two processes on one embedded database would destroy it: stop the other one, give this one a DATA_DIR of its own, or set DATABASE_URL to share a PostgreSQL.`,
    );
    this.name = 'DirectoryInUseError';
  }
}

/**
 * Takes the exclusive lock of a data directory, making the directory when it is missing. It is a lock of the
 * operating system on an open file: it ends with the process, however that ends, so nothing stale is ever left behind.
 * @returns gives the lock back
 * @throws {DirectoryInUseError}
 */
export function lockDirectory(directory: string): () => void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = openSync(join(directory, 'lock'), 'a+', 0o600);
  if (!tryLock(file)) {
    closeSync(file);
    throw new DirectoryInUseError(directory);
  }
  return () => closeSync(file);
}
