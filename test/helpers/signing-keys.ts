import type { FastifyInstance } from 'fastify';
import { createKeyStore, type KeyStore } from '../../plugins/tokens/signing-keys/store.js';
import type { KeySet } from '../../schemas/jwks.js';

/** The keys as a command sees them that is given the environment of a service. */
export const storeOf = ({ config, activity }: FastifyInstance): KeyStore =>
  createKeyStore({ config, activity, onUnreadable: () => {} });

/** The key set as a service gives it. */
const keySetOf = async (app: FastifyInstance): Promise<KeySet> => (await app.inject('/.well-known/jwks.json')).json();

/** The ids in it. */
export const kidsOf = async (app: FastifyInstance): Promise<string[]> =>
  (await keySetOf(app)).keys.map(({ kid }) => kid);
