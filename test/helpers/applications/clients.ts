import { createHash } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import type { Test } from 'tap';
import { findClient } from '../../../db/queries/applications/provider-clients.js';
import type { ErrorCode } from '../../../schemas/errors.js';
import { refused } from '../http/refusals.js';
import { asAdmin } from '../http/writing.js';
import type { TestApp } from '../service/app.js';

/** The smallest valid body of a public and of a confidential client, and of a resource. */
export const publicClient = (more: object = {}) => ({
  name: 'An app',
  type: 'public',
  redirect_uris: ['https://app.example.com/callback'],
  ...more,
});
export const confidentialClient = (more: object = {}) => publicClient({ type: 'confidential', ...more });

let resources = 0;
export const resource = (more: object = {}) => ({
  identifier: `https://api-${++resources}.example.com`,
  name: 'An API',
  ...more,
});

/** Creates an item, and returns its fields. */
export async function create({ post }: TestApp, url: '/clients' | '/resources', body: object, headers = asAdmin) {
  const response = await post(url, body, headers);
  if (response.statusCode !== 200) throw new Error(`${url} returned ${response.body}`);
  return response.json().data;
}

/** The items that a request to an update returns, or the fields of one. */
export const dataOf = (response: LightMyRequestResponse) => response.json().data;

export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** The hashes of the secrets with which a client can authenticate now. */
export async function secretHashesOf({ app, clock }: TestApp, id: string): Promise<string[]> {
  return (await findClient(app.db, id, '', clock.now()))?.secrets ?? [];
}

/** Asserts that a request is refused with a code, and with at least these extensions. */
export function refusedWith(
  t: Test,
  response: LightMyRequestResponse,
  code: ErrorCode,
  extensions: object,
  what: string,
): void {
  if (response.statusCode < 400) t.fail(`${what}: accepted`);
  else refused(t, response, code, what);
  t.match(response.json().errors?.[0].extensions, extensions, what);
}
