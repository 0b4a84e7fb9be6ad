import type { FastifyInstance } from 'fastify';

type Method = (...parameters: unknown[]) => unknown;

/** Counts the statements that the service sends to its database, by listening in on the driver, whichever it is. */
export function countStatements(app: FastifyInstance): () => number {
  const { $client } = app.db as unknown as { $client: Record<string, Method> };
  const name = typeof $client.unsafe === 'function' ? 'unsafe' : 'query';
  const original = $client[name] as Method;
  let count = 0;
  $client[name] = (...parameters) => {
    count++;
    return Reflect.apply(original, $client, parameters);
  };
  return () => count;
}
