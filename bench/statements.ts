import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { buildApp } from '../app.js';
import { loadConfig } from '../plugins/platform/config.js';
import { hearStatements, type Sent } from '../test/helpers/database/statements.js';

export type { Sent } from '../test/helpers/database/statements.js';

/** An app on a database, and a record of the statements that it sends. Close it when done. */
export interface Recorder {
  /** @returns the response with the service's own headers, and the statements sent before it */
  record(options: InjectOptions): Promise<{ body: string; headers: Record<string, string>; sent: Sent[] }>;
  /** Sends a request without recording anything. */
  inject(options: InjectOptions): Promise<LightMyRequestResponse>;
  close(): Promise<void>;
}

/** Records what the service sends, so that the floor sends the same and the two never drift apart. */
export async function startRecorder(variables: Readonly<Record<string, string>>): Promise<Recorder> {
  const app = await buildApp(loadConfig({ ...variables, LOG_LEVEL: 'silent' }));
  await app.ready();
  let sent: Sent[] = [];
  hearStatements(app, (statement) => void sent.push(statement));
  return {
    record: async (options) => {
      sent = [];
      const { statusCode, body, headers } = await app.inject(options);
      if (statusCode !== 200) throw new Error(`${options.method ?? 'GET'} ${options.url}: ${statusCode} ${body}`);
      // Times of use are written after the response, so these updates may belong to the previous request.
      const isLater = ({ text }: Sent) => /\bupdate "(user_uses|sessions)" r set last_(access|used_at)\b/.test(text);
      return { body, headers: ownHeaders(headers), sent: sent.filter((statement) => !isLater(statement)) };
    },
    inject: (options) => app.inject(options),
    close: () => app.close(),
  };
}

/** Headers that any server adds. */
const serversHeaders = new Set(['connection', 'content-length', 'date', 'keep-alive']);

const ownHeaders = (headers: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (serversHeaders.has(name) ? [] : [[name, String(value)]])),
  );
