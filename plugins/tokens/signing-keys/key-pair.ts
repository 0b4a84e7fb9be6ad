import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createSigner, createVerifier } from 'fast-jwt';
import { calculateJwkThumbprint } from 'jose';
import type { KeyPairAlgorithm, PublicKey } from '../../../schemas/jwks.js';
import { accessTokenType } from '../jwt.js';

/** A key pair, ready for use. It has a fixed algorithm, whatever the header of a token says. */
export interface KeyPair {
  kid: string;
  algorithm: KeyPairAlgorithm;
  /** The public part, for publication. */
  publicKey: PublicKey;
  sign(claims: object): string;
  /** The claims of a token that this key has signed. @throws for any other token */
  verify(token: string): unknown;
}

/** Creates a key pair. @returns its ID, and the private key in PEM (PKCS #8) */
export async function makeKeyPair(algorithm: KeyPairAlgorithm): Promise<{ kid: string; pem: string }> {
  const { privateKey } =
    algorithm === 'EdDSA' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // The ID is derived from the key, so that no two keys have the same ID, and no key can get the ID of another (RFC 7638).
  const kid = await calculateJwkThumbprint(publicPartOf(createPublicKey(privateKey)));
  return { kid, pem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })) };
}

/** Reads a stored private key. The public key is derived from it, so an attacker cannot replace the public key. */
export function readKeyPair(kid: string, algorithm: KeyPairAlgorithm, pem: string): KeyPair {
  const publicKey = createPublicKey(createPrivateKey(pem));
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
    publicKey: { ...publicPartOf(publicKey), kid, alg: algorithm, use: 'sig' },
    sign: createSigner({ key: pem, algorithm, header: { alg: algorithm, typ: accessTokenType, kid } }),
    verify: (token) => verify(token),
  };
}

/** The members of a public key (RFC 7517, RFC 8037). They are listed by name, so that no other member can be published. */
function publicPartOf(key: KeyObject): Pick<PublicKey, 'kty' | 'crv' | 'x' | 'y'> {
  const { kty, crv, x, y } = key.export({ format: 'jwk' }) as PublicKey;
  return { kty, crv, x, ...(y === undefined ? {} : { y }) };
}
