import { types } from 'node:util';
import type { FastifyInstance } from 'fastify';

/** A statement that the service has sent. */
export interface Sent {
  text: string;
  parameters: unknown[];
}

/** The text of a statement with its values in it, for `explain`. */
export const withValues = ({ text, parameters }: Sent): string =>
  text.replaceAll(/\$(\d+)/g, (_, number) => `'${String(parameters[Number(number) - 1])}'`);

type Method = (...parameters: unknown[]) => unknown;
type Client = Record<string, Method>;

const clientOf = (app: FastifyInstance) => (app.db as unknown as { $client: Client }).$client;

/** The PostgreSQL driver sends statements with `unsafe`, and the embedded database with `query`. */
const senderOf = (client: Client) => (typeof client.unsafe === 'function' ? 'unsafe' : 'query');

/** Replaces a method. @returns a function that restores the original, unless it has been replaced again */
function replace(client: Client, name: string, make: (original: Method) => Method): () => void {
  const isOwn = Object.hasOwn(client, name);
  const original = client[name] as Method;
  const replacement = make(original);
  client[name] = replacement;
  return () => {
    if (client[name] !== replacement) return;
    if (isOwn) client[name] = original;
    else delete client[name];
  };
}

const hearOn = (client: Client, hear: (statement: Sent) => void): (() => void) =>
  replace(client, senderOf(client), (original) => (text, parameters = [], ...more) => {
    hear({ text: String(text), parameters: [...(parameters as unknown[])] });
    return Reflect.apply(original, client, [text, parameters, ...more]);
  });

/**
 * Observes every statement that the service sends through either driver, including those in transactions. If a proxy
 * replaces the client, nothing is observed, because a proxy sends statements in its own way.
 * @returns a function that stops the observation, because the embedded database is reused after the app is closed
 */
export function hearStatements(app: FastifyInstance, hear: (statement: Sent) => void): () => void {
  const client = clientOf(app);
  if (types.isProxy(client)) return () => {};
  const stopHearing = hearOn(client, hear);
  const stopTransactions = replace(
    client,
    typeof client.begin === 'function' ? 'begin' : 'transaction',
    (original) =>
      (work, ...more) =>
        Reflect.apply(original, client, [
          (tx: Client) => {
            hearOn(tx, hear);
            return (work as Method)(tx);
          },
          ...more,
        ]),
  );
  return () => {
    stopTransactions();
    stopHearing();
  };
}

/** Counts the statements that the service sends outside transactions. */
export function countStatements(app: FastifyInstance): () => number {
  let count = 0;
  hearOn(clientOf(app), () => {
    count++;
  });
  return () => count;
}
