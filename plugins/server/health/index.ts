import plugin from 'fastify-plugin';
import { createHealthChecks, type HealthChecks } from './service.js';

declare module 'fastify' {
  interface FastifyInstance {
    health: HealthChecks;
    serviceVersion: string;
  }
}

/** `app.health`: health checks, and the public settings of the project. */
export const healthPlugin = plugin<{ version: string }>(
  async (app, { version }) => {
    app.decorate('serviceVersion', version);
    app.decorate('health', createHealthChecks({ db: app.db, redis: app.redis }));
  },
  { name: 'health', dependencies: ['database', 'redis'] },
);
