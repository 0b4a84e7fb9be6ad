import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** The data cannot be protected from other users of the machine. */
export class DataDirectoryError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DataDirectoryError';
  }
}

/** Contains all data if DATA_DIR itself cannot be made private, for example on a volume that belongs to another user. */
const innerName = 'private';
/** The entries that the service creates in the directory. */
const ownNames = ['secret', 'database', 'lock', 'admin-password'];

const uid = process.getuid?.();

const isPrivate = ({ mode }: Stats) => (mode & 0o077) === 0;
const isSticky = ({ mode }: Stats) => (mode & 0o1000) !== 0;

/**
 * Ensures that only its owner can read the data directory. The service's own directory is made private. In a directory that
 * belongs to another user, or that also contains other files, the service creates a private subdirectory.
 * @returns the directory to use
 * @throws {DataDirectoryError} if this is impossible
 */
export function prepareDataDirectory(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  // Windows has no such modes.
  if (uid === undefined) return dataDir;
  const inner = join(dataDir, innerName);
  const directory = lstatSync(inner, { throwIfNoEntry: false })
    ? requirePrivate(inner)
    : (tryMakePrivate(dataDir) ?? requirePrivate(createPrivateSubdirectory(dataDir, inner)));
  requireOwnEntries(directory);
  return directory;
}

/** @returns the directory if it is private now, otherwise undefined */
function tryMakePrivate(directory: string): string | undefined {
  const found = statSync(directory);
  const isUsable = found.uid === uid || uid === 0;
  if (isPrivate(found) && isUsable) return directory;
  if (found.uid !== uid || isSticky(found) || !belongsToService(directory)) return undefined;
  return isPrivate(restrict(directory)) ? directory : undefined;
}

/** The service must not restrict access to a folder with other files, such as `/tmp` or a home directory. */
function belongsToService(directory: string): boolean {
  const names = readdirSync(directory).filter((name) => name !== 'lost+found');
  return names.length === 0 || names.some((name) => ownNames.includes(name));
}

/** Reads the mode again after changing it, because some file systems do not support modes. */
function restrict(directory: string): Stats {
  try {
    chmodSync(directory, 0o700);
  } catch {}
  return lstatSync(directory);
}

function createPrivateSubdirectory(dataDir: string, inner: string): string {
  const leftovers = readdirSync(dataDir).filter((name) => name === 'secret' || name === 'database');
  if (leftovers.length > 0) {
    throw new DataDirectoryError(
      `Other users of this machine can access the data in ${dataDir}, and the service is not permitted to change that. Move ${leftovers.join(' and ')} to ${inner}, a directory with mode 700 that belongs to the user of the service, or run \`chmod 700 ${dataDir}\`.`,
    );
  }
  mkdirSync(inner, { mode: 0o700 });
  return inner;
}

function requirePrivate(inner: string): string {
  const found = lstatSync(inner);
  const isOurs = found.isDirectory() && (found.uid === uid || uid === 0);
  if (isOurs && (isPrivate(found) || isPrivate(restrict(inner)))) return inner;
  throw new DataDirectoryError(
    `Other users of this machine could access the data in ${inner}. It must be a directory that belongs to the user of the service, on a file system with permissions. Set DATA_DIR to another folder, or set DATABASE_URL to use PostgreSQL.`,
  );
}

/** While the directory was accessible, another user may have put a file there, such as a link or a secret that they know. */
function requireOwnEntries(directory: string): void {
  const owner = lstatSync(directory).uid;
  for (const name of ownNames) {
    const path = join(directory, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (!found) continue;
    if (found.uid !== uid && found.uid !== owner) {
      throw new DataDirectoryError(
        `${path} belongs to another user (${found.uid}), who may have put it there. If it is yours, give it to the user of the service with chown; otherwise remove it.`,
      );
    }
    if (found.isFile() && !isPrivate(found)) chmodSync(path, 0o600);
  }
}

/**
 * Writes a file that only the owner of the directory can read, and replaces an existing file. A link is replaced, not followed.
 * @returns the path of the file
 */
export function writePrivateFile(directory: string, name: string, content: string): string {
  const path = join(directory, name);
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, content, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
  return path;
}
