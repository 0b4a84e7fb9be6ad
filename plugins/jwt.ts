import jwt from '@fastify/jwt';
import plugin from 'fastify-plugin';
import { deriveKey } from './keys.js';

/** The issuer of every token of ours. A JWT of another issuer is not looked at as a JWT. */
export const issuer = 'gatehouse';

/** The `typ` of an access token (RFC 9068, 2.1): no other kind of token passes for one. */
export const accessTokenType = 'at+jwt';

/**
 * `app.jwt`: signs and verifies with one algorithm and one key. Times are judged by the app's clock (see tokens), and
 * every claim but the issuer is checked by us.
 */
export const jwtPlugin = plugin(
  async (app) => {
    await app.register(jwt, {
      secret: deriveKey(app.config.SECRET, 'access-token'),
      sign: { algorithm: 'HS256', header: { alg: 'HS256', typ: accessTokenType } },
      verify: {
        algorithms: ['HS256'],
        allowedIss: issuer,
        checkTyp: accessTokenType,
        ignoreExpiration: true,
        cache: false,
      },
    });
  },
  { name: 'jwt', dependencies: ['config'] },
);
