import { readFileSync } from 'node:fs';
import { createSummaries } from '../platform/log-summaries.js';
import { definePlugin } from '../platform/plugin.js';

declare module '../platform/plugin.js' {
  interface Services {
    /** Adds a listener for every connection that is closed because there are too few file descriptors. */
    onRefusedConnection(listener: () => void): void;
  }
}

/** File descriptors for everything but clients and PostgreSQL: Redis, providers, emails, files, and the threads. */
const reserved = 100;
/** The embedded database keeps the files of its tables and indexes open. */
const embeddedFiles = 200;

/**
 * Limits the number of connections so that file descriptors remain for the database. Without this limit, libuv accepts and closes
 * further connections without notice, and the service can neither connect to the database nor open a file.
 */
export const connectionLimitPlugin = definePlugin('http/connection-limit', ({ config }, app) => {
  const listeners: (() => void)[] = [];
  const provided = { onRefusedConnection: (listener: () => void) => void listeners.push(listener) };
  const limit = maxDescriptors();
  if (limit === undefined) return provided;
  const { DATABASE_URL, DATABASE_POOL_MAX } = config;
  const ofDatabase = DATABASE_URL === undefined ? embeddedFiles : DATABASE_POOL_MAX;
  const max = Math.max(Math.floor(limit / 2), limit - reserved - ofDatabase);
  app.server.maxConnections = max;

  const summaries = createSummaries();
  app.addHook('onClose', async () => summaries.close());
  const log = (refused: number) =>
    app.log.error(
      { refused, connections: max, descriptors: limit },
      'connections were refused: too few file descriptors',
    );
  app.server.on('drop', () => {
    for (const listener of listeners) listener();
    summaries.add('refused', () => log(1), log);
  });
  return provided;
});

/** The maximum number of file descriptors of this process; undefined if there is no limit, or the system does not report it. */
function maxDescriptors(): number | undefined {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}
