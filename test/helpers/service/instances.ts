import type { FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import { buildApp } from '../../../app.js';
import { atEndOf } from '../runner/teardown.js';
import { type TestApp, testConfig } from './app.js';

/** Starts additional instances that share the database and the clock of a service. */
export const instancesBeside =
  (t: Test, { clock, database }: Pick<TestApp, 'clock' | 'database'>) =>
  async (variables: Record<string, string> = {}): Promise<FastifyInstance> => {
    const app = await buildApp(testConfig(variables), { clock: clock.now, database: database.location });
    atEndOf(t, () => app.close());
    return app;
  };
