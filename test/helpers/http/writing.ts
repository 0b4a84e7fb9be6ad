import { sql } from 'drizzle-orm';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import type { Test } from 'tap';
import type { Overrides } from '../../../app.js';
import {
  clientSecrets,
  clients,
  passkeys,
  permissions,
  policies,
  recoveryCodes,
  resources,
  rolePolicies,
  roles,
  sessions,
  settings,
  userPolicies,
  users,
} from '../../../db/schema.js';
import { rows } from '../../../db/statements.js';
import type { ErrorCode } from '../../../schemas/errors.js';
import { bearer, startTestApp, type TestApp } from '../service/app.js';
import { refused } from './refusals.js';

export const adminToken = 'the-static-token-of-the-administrator';
export const asAdmin = bearer(adminToken);

/** Starts a service whose administrator has a static token. */
export const startWithAdmin = (t: Test, variables: Record<string, string> = {}, overrides: Overrides = {}) =>
  startTestApp(t, { ADMIN_TOKEN: adminToken, ...variables }, overrides);

/**
 * A digest of all stored data except `last_access`, which every request may update. It uses a single statement because
 * it runs before and after hundreds of requests.
 */
export async function stateOf(app: FastifyInstance): Promise<string> {
  const tables = [
    users,
    roles,
    policies,
    permissions,
    rolePolicies,
    userPolicies,
    sessions,
    settings,
    recoveryCodes,
    passkeys,
    clients,
    clientSecrets,
    resources,
  ];
  const digests = tables.map(
    (table) =>
      sql`(select md5(coalesce(string_agg((to_jsonb(t) - 'last_access')::text, ' ' order by to_jsonb(t)::text), '')) from ${table} t)`,
  );
  const [found] = await rows<{ state: string }>(
    app.db,
    sql`select concat_ws(' ', ${sql.join(digests, sql`, `)}) as state`,
  );
  return found?.state ?? '';
}

/** The expected extensions of an error, except its code. The values of other keys are not checked. */
export type Extensions = Record<string, unknown>;

/** Asserts that a request is rejected with this error and leaves all stored data unchanged. */
export async function refusedUnchanged(
  t: Test,
  { app }: TestApp,
  send: () => Promise<LightMyRequestResponse>,
  [code, extensions = {}]: readonly [ErrorCode, Extensions?],
  what: string,
): Promise<void> {
  const before = await stateOf(app);
  const response = await send();
  if (response.statusCode < 400) {
    t.fail(`${what}: returned ${response.statusCode} ${response.body.slice(0, 200)}`);
    return;
  }
  refused(t, response, code, what);
  const given = response.json().errors[0].extensions;
  for (const [key, value] of Object.entries(extensions)) t.strictSame(given[key], value, `${what}: ${key}`);
  t.equal(await stateOf(app), before, `${what}: nothing changed`);
}

export const patch = ({ request }: TestApp, url: string, payload: object, headers: Record<string, string> = asAdmin) =>
  request({ method: 'PATCH', url, payload, headers });

export const remove = (
  { request }: TestApp,
  url: string,
  payload?: object,
  headers: Record<string, string> = asAdmin,
) => request({ method: 'DELETE', url, headers, ...(payload ? { payload } : {}) });
