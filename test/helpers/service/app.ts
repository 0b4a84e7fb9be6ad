import { inspect } from 'node:util';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import type { Test } from 'tap';
import { buildApp, type Overrides } from '../../../app.js';
import { loadConfig } from '../../../plugins/platform/config.js';
import { createTestDatabase, type TestDatabase } from '../database/databases.js';
import { watchPlans } from '../database/plans.js';
import { checkAnswer, requireDocumented } from '../openapi/document.js';
import { atEndOf } from '../runner/teardown.js';
import { administrator } from '../users/credentials.js';
import { createTestClock, type TestClock } from './clock.js';
import { collectLog } from './collect-log.js';
import { cheapHashing, noLimits } from './variables.js';

export interface TestApp {
  app: FastifyInstance;
  clock: TestClock;
  database: TestDatabase;
  /** Sends a request to the app without a socket. Every response is checked against the OpenAPI document. */
  request(options: InjectOptions): Promise<LightMyRequestResponse>;
  post(url: string, payload?: object, headers?: Record<string, string>): Promise<LightMyRequestResponse>;
  get(url: string, headers?: Record<string, string>): Promise<LightMyRequestResponse>;
}

/** Tests send many requests, so hashing is cheap and may have to wait, and requests and emails are not limited. */
const environment = {
  SECRET: 'a secret for tests, long enough to be taken',
  ADMIN_EMAIL: administrator.email,
  ADMIN_PASSWORD: administrator.password,
  LOG_LEVEL: 'silent',
  ...cheapHashing,
  ...noLimits,
};

export const testConfig = (variables: Record<string, string> = {}) => loadConfig({ ...environment, ...variables });

/**
 * Starts a service with its own database and clock. It is closed when the test ends.
 * @param variables environment variables that extend or replace the defaults
 * @param overrides parts of the app to replace
 */
export async function startTestApp(
  t: Test,
  variables: Record<string, string> = {},
  overrides: Overrides = {},
): Promise<TestApp> {
  const database = await createTestDatabase({ hasTables: true });
  const clock = createTestClock();
  const { lines, logger } = collectLog('error');
  const options = {
    clock: clock.now,
    database: database.location,
    ...(variables.LOG_LEVEL === undefined ? { logger } : {}),
    ...overrides,
  };
  const app = await buildApp(testConfig(variables), options);
  await app.ready();
  const plans = watchPlans(app);
  atEndOf(t, async () => {
    if (!t.passing()) printErrors(lines);
    try {
      await plans.check();
    } finally {
      plans.stop();
      await app.close();
      await database.drop();
    }
  });
  requireDocumented(new Map([...app.operations, ...app.protocolOperations]));

  const request = async (options: InjectOptions) => {
    const response = await plans.during(async () => app.inject(options));
    const { statusCode: status, headers, body } = response;
    checkAnswer({ method: options.method ?? 'GET', url: String(options.url), status, headers, body });
    return response;
  };
  return {
    app,
    clock,
    database,
    request,
    post: (url, payload, headers = {}) => request({ method: 'POST', url, headers, ...(payload ? { payload } : {}) }),
    get: (url, headers = {}) => request({ method: 'GET', url, headers }),
  };
}

/** Prints the errors that a service has logged, because the response says only that something went wrong. */
function printErrors(lines: readonly Record<string, unknown>[]): void {
  const errors = new Set(lines.map(({ msg, err }) => inspect(err ?? msg, { depth: null })));
  for (const error of [...errors].slice(0, 10)) console.error(`The service logged an error: ${error}`);
}

/** Closes the app's database connection without the app's knowledge. */
export async function cutDatabase({ app }: Pick<TestApp, 'app'>): Promise<void> {
  const { $client } = app.db as unknown as { $client: { end?(): Promise<void>; close?(): Promise<void> } };
  await ($client.end ?? $client.close)?.call($client);
}

/** The code of the first error in a response. */
export const codeOf = (response: { json(): { errors?: { extensions: { code: string } }[] } }): string | undefined =>
  response.json().errors?.[0]?.extensions.code;

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
