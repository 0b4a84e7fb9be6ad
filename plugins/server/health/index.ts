import plugin from 'fastify-plugin';
import { createHealthChecks, type HealthChecks } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    health: HealthChecks;
    serviceVersion: string;
  }
}

/** `app.health`: whether all is in order, and what the project says of itself. */
export const healthPlugin = plugin<{ version: string }>(
  async (app, { version }) => {
    app.decorate('serviceVersion', version);
    app.decorate('health', createHealthChecks({ db: app.db, redis: app.redis }));
  },
  { name: 'health', dependencies: ['database', 'redis'] },
);
