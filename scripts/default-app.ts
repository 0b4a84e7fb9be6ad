import type { FastifyInstance } from 'fastify';
import { buildApp } from '../app.js';
import { loadConfig } from '../plugins/platform/config.js';

/** The service in its default configuration, for files that are generated from it. They must not depend on this machine. */
export async function startDefaultApp(): Promise<FastifyInstance> {
  const config = loadConfig({ SECRET: 'needed to start and used for nothing', LOG_LEVEL: 'silent' });
  const app = await buildApp(config, { database: { kind: 'memory' } });
  await app.ready();
  return app;
}

/** The path of an operation as in the OpenAPI document, such as `/users/{id}`. */
export const documentedPath = (url: string): string => url.replaceAll(/:(\w+)/g, '{$1}').replace(/(.)\/$/, '$1');
