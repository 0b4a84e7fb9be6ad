import type { FastifyInstance, InjectOptions } from 'fastify';
import { buildApp } from '../app.js';
import { loadConfig } from '../plugins/config.js';

/** A statement that the service sent, as it stood. */
export interface Sent {
  text: string;
  parameters: unknown[];
}

/** An app on a database, and what it sends there. Close it when done. */
export interface Recorder {
  /** @returns the answer, and the statements before it */
  record(options: InjectOptions): Promise<{ body: string; sent: Sent[] }>;
  close(): Promise<void>;
}

type Method = (...parameters: unknown[]) => unknown;
type Client = Record<string, Method>;

/** The floor sends what the service sends; here it is listened to, so that the two never drift apart. */
export async function startRecorder(variables: Readonly<Record<string, string>>): Promise<Recorder> {
  const app = await buildApp(loadConfig({ ...variables, LOG_LEVEL: 'silent' }));
  await app.ready();
  let sent: Sent[] = [];
  listen(app, (statement) => sent.push(statement));
  return {
    record: async (options) => {
      sent = [];
      const { statusCode, body } = await app.inject(options);
      if (statusCode !== 200) throw new Error(`${options.method ?? 'GET'} ${options.url}: ${statusCode} ${body}`);
      const isLater = ({ text }: Sent) => /^update "users" set "last_access"/.test(text);
      return { body, sent: sent.filter((statement) => !isLater(statement)) };
    },
    close: () => app.close(),
  };
}

/** Both drivers: of PostgreSQL `unsafe` and `begin`, of the embedded database `query` and `transaction`. */
function listen(app: FastifyInstance, hear: (statement: Sent) => void): void {
  const listenOn = (client: Client) => {
    const send = client.unsafe ? 'unsafe' : 'query';
    const original = client[send] as Method;
    client[send] = (text, parameters = [], ...more) => {
      hear({ text: String(text), parameters: [...(parameters as unknown[])] });
      return Reflect.apply(original, client, [text, parameters, ...more]);
    };
  };
  const { $client } = app.db as unknown as { $client: Client };
  listenOn($client);
  const begin = $client.begin ? 'begin' : 'transaction';
  const original = $client[begin] as Method;
  $client[begin] = (work) =>
    Reflect.apply(original, $client, [
      (tx: Client) => {
        listenOn(tx);
        return (work as Method)(tx);
      },
    ]);
}
