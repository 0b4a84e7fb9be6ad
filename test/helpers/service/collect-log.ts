import { loggerOptions } from '../../../plugins/monitoring/logging.js';

/** A logger for an app, and the lines that it has written. */
export function collectLog(level: string) {
  const lines: Record<string, unknown>[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
  return { lines, logger: loggerOptions(level, stream as unknown as NodeJS.WriteStream) };
}
