import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { createSigner, createVerifier } from 'fast-jwt';
import { calculateJwkThumbprint } from 'jose';
import type { KeyPairAlgorithm, PublicKey } from '../../../schemas/jwks.js';
import { accessTokenType } from '../jwt.js';

/** A private key, as a JSON Web Key. */
export type PrivateKey = PublicKey & { d: string };

/** A key pair, ready for use. It has a fixed algorithm, whatever the header of a token says. */
export interface KeyPair {
  kid: string;
  algorithm: KeyPairAlgorithm;
  /** The public part, for publication. */
  publicKey: PublicKey;
  /** All parts, for a library that signs. */
  privateKey(): PrivateKey;
  /** Signs an access token of this service. */
  sign(claims: object): string;
  /** The claims of an access token that this key has signed. @throws for any other token */
  verify(token: string): unknown;
}

/** A new key pair that is not stored yet. */
export interface NewKeyPair {
  kid: string;
  algorithm: KeyPairAlgorithm;
  /** The private key in PEM (PKCS #8). */
  pem: string;
}

const generate = promisify(generateKeyPair);

/** Bits. RS256 requires at least this size (RFC 7518, 3.3), which is secure until 2030 (NIST SP 800-57), and every client supports it. */
const modulusLength = 2048;

const generators: Record<KeyPairAlgorithm, () => Promise<{ privateKey: KeyObject }>> = {
  EdDSA: () => generate('ed25519'),
  ES256: () => generate('ec', { namedCurve: 'P-256' }),
  RS256: () => generate('rsa', { modulusLength }),
};

/** Creates a key pair for each of these algorithms. For RS256, this takes so long that it must not happen inside a transaction. */
export const makeKeyPairs = (algorithms: readonly KeyPairAlgorithm[]): Promise<NewKeyPair[]> =>
  Promise.all(
    algorithms.map(async (algorithm) => {
      const { privateKey } = await generators[algorithm]();
      // The ID is derived from the key, so that no two keys have the same ID, and no key can get the ID of another (RFC 7638).
      const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
      // From the PEM: Node.js 20 can wait for itself forever if it collects garbage while it exports a generated key as a JWK.
      const kid = await calculateJwkThumbprint(createPublicKey(pem).export({ format: 'jwk' }));
      return { kid, algorithm, pem };
    }),
  );

/** Reads a stored private key. The public key is derived from it, so an attacker cannot replace the public key. */
export function readKeyPair(kid: string, algorithm: KeyPairAlgorithm, pem: string): KeyPair {
  const privateKey = createPrivateKey(pem);
  const publicKey = createPublicKey(privateKey);
  const verify = createVerifier({
    key: String(publicKey.export({ type: 'spki', format: 'pem' })),
    algorithms: [algorithm],
    checkTyp: accessTokenType,
    ignoreExpiration: true,
    cache: false,
  });
  return {
    kid,
    algorithm,
    publicKey: publicPartOf(publicKey, kid, algorithm),
    privateKey: () => ({ ...privateKey.export({ format: 'jwk' }), kid, alg: algorithm, use: 'sig' }) as PrivateKey,
    sign: createSigner({ key: pem, algorithm, header: { alg: algorithm, typ: accessTokenType, kid } }),
    verify: (token) => verify(token),
  };
}

/** A public key (RFC 7517, RFC 7518, RFC 8037). Its members are listed by name, so that no other member can be published. */
function publicPartOf(key: KeyObject, kid: string, algorithm: KeyPairAlgorithm): PublicKey {
  const jwk = key.export({ format: 'jwk' });
  const members = { OKP: ['crv', 'x'], EC: ['crv', 'x', 'y'], RSA: ['n', 'e'] }[String(jwk.kty)] ?? [];
  const own = Object.fromEntries(['kty', ...members].map((name) => [name, jwk[name]]));
  return { ...own, kid, alg: algorithm, use: 'sig' } as PublicKey;
}
