import type { FastifyInstance } from 'fastify';
import { createKeyStore, type KeyStore } from '../../../plugins/tokens/signing-keys/store.js';
import type { KeySet } from '../../../schemas/jwks.js';

/** The key store that a command with the environment of a service uses. */
export const storeOf = (app: FastifyInstance): KeyStore => createKeyStore(app, () => {});

/** The key set that a service publishes. */
const keySetOf = async (app: FastifyInstance): Promise<KeySet> => (await app.inject('/.well-known/jwks.json')).json();

/** The key ids in the key set. */
export const kidsOf = async (app: FastifyInstance): Promise<string[]> =>
  (await keySetOf(app)).keys.map(({ kid }) => kid);
