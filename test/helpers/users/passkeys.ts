import type { LightMyRequestResponse } from 'fastify';
import type { PasskeyCredential } from '../../../schemas/passkeys.js';
import type { TestApp } from '../service/app.js';
import { type Authenticator, type Changes, createAuthenticator, type Settings } from './authenticator.js';
import { openSession } from './sessions.js';

type Headers = Record<string, string>;

/** What `navigator.credentials.create()` receives, in a session. */
export async function creationOptions({ post }: Pick<TestApp, 'post'>, headers: Headers) {
  const response = await post('/users/me/passkeys/options', undefined, headers);
  if (response.statusCode !== 200) throw new Error(`There are no options: ${response.body}`);
  return response.json().data;
}

/** What `navigator.credentials.get()` receives. */
export async function requestOptions({ post }: Pick<TestApp, 'post'>): Promise<{ challenge: string }> {
  return (await post('/auth/passkey/options')).json().data;
}

/** Creates a key pair in an authenticator and adds it to the account, on a page of the service by default. */
export async function addPasskey(
  service: Pick<TestApp, 'app' | 'post'>,
  headers: Headers,
  settings: Settings = {},
  name?: string,
): Promise<Authenticator & { id: string }> {
  const { PUBLIC_URL, WEBAUTHN_RP_ID: rpId } = service.app.config;
  const authenticator = createAuthenticator({ origin: new URL(PUBLIC_URL).origin, rpId, ...settings });
  const credential = authenticator.create(await creationOptions(service, headers));
  const response = await service.post(
    '/users/me/passkeys',
    { credential, ...(name === undefined ? {} : { name }) },
    headers,
  );
  if (response.statusCode !== 200) throw new Error(`The passkey was not added: ${response.body}`);
  return { ...authenticator, id: response.json().data.id };
}

/** Adds a passkey in a session of its own. */
export const addPasskeyTo = async (service: TestApp, user: string, settings: Settings = {}) =>
  addPasskey(service, await openSession(service.app, user), settings);

/** A response of the authenticator to a new challenge. */
export const assertion = async (
  service: Pick<TestApp, 'post'>,
  authenticator: Pick<Authenticator, 'get'>,
  changes: Changes = {},
): Promise<PasskeyCredential> => authenticator.get(await requestOptions(service), changes);

/** Signs in with a new challenge. */
export const signIn = async (
  service: Pick<TestApp, 'post'>,
  authenticator: Pick<Authenticator, 'get'>,
  changes: Changes = {},
  more: object = {},
): Promise<LightMyRequestResponse> =>
  service.post('/auth/passkey', { credential: await assertion(service, authenticator, changes), ...more });
