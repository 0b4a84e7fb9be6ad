import { types } from 'node:util';
import type { FastifyInstance } from 'fastify';

/** A statement that the service sent, as it stood. */
export interface Sent {
  text: string;
  parameters: unknown[];
}

type Method = (...parameters: unknown[]) => unknown;
type Client = Record<string, Method>;

const clientOf = (app: FastifyInstance) => (app.db as unknown as { $client: Client }).$client;

/** Of PostgreSQL the driver sends with `unsafe`, that of the embedded database with `query`. */
const senderOf = (client: Client) => (typeof client.unsafe === 'function' ? 'unsafe' : 'query');

/** Puts a method in the place of another. @returns what puts that back, unless there is yet another now */
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
 * Listens in on the driver, whichever it is: hears each statement that the service sends, in transactions too. What stands in
 * for an observed client has its own idea of how to send, and is not heard.
 * @returns what ends it: the embedded database outlives the app, and is lent to the next one
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

/** Counts the statements that the service sends to its database, transactions left aside. */
export function countStatements(app: FastifyInstance): () => number {
  let count = 0;
  hearOn(clientOf(app), () => {
    count++;
  });
  return () => count;
}
