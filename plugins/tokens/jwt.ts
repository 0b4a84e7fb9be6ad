import jwt, { type FastifyJWTOptions } from '@fastify/jwt';
import fastifyPlugin from 'fastify-plugin';
import type { Config } from '../../schemas/config.js';
import { deriveKey, type KeyPurpose } from '../platform/key-derivation.js';

/** The `typ` of an access token (RFC 9068, 2.1). No other kind of token is accepted as an access token. */
export const accessTokenType = 'at+jwt';

/** The `typ` of a token in a link. */
export const linkTokenType = 'link+jwt';

declare module '@fastify/jwt' {
  interface JWT {
    /** Signs and verifies the tokens in links. */
    links: Pick<JWT, 'sign' | 'verify' | 'decode'>;
  }
}

/**
 * `app.jwt`: signs and verifies with a single algorithm and a single key, derived from SECRET. The library checks no claims. The modules
 * in this folder do, and use the app's clock for the expiry.
 */
export const jwtPlugin = fastifyPlugin<Pick<Config, 'SECRET'>>(async (app, { SECRET }) => {
  await app.register(jwt, optionsFor(SECRET, 'access-token', accessTokenType));
  await app.register(jwt, { namespace: 'links', ...optionsFor(SECRET, 'link-token', linkTokenType) });
});

const optionsFor = (secret: string, purpose: KeyPurpose, typ: string): FastifyJWTOptions => ({
  secret: deriveKey(secret, purpose),
  sign: { algorithm: 'HS256', header: { alg: 'HS256', typ } },
  verify: { algorithms: ['HS256'], checkTyp: typ, ignoreExpiration: true, cache: false },
});
