import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createSigner, createVerifier } from 'fast-jwt';
import { calculateJwkThumbprint } from 'jose';
import type { KeyPairAlgorithm, PublicKey } from '../../../schemas/jwks.js';
import { accessTokenType, issuer } from '../jwt.js';

/** A key pair, ready for use: with one algorithm, whatever a token says. */
export interface KeyPair {
  kid: string;
  algorithm: KeyPairAlgorithm;
  /** What everybody may know of it. */
  publicKey: PublicKey;
  sign(claims: object): string;
  /** The claims of a token that it has signed. @throws for any other */
  verify(token: string): unknown;
}

/** A new pair: its id, and the private key in PEM (PKCS #8). */
export async function makeKeyPair(algorithm: KeyPairAlgorithm): Promise<{ kid: string; pem: string }> {
  const { privateKey } =
    algorithm === 'EdDSA' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // Of what the key is, so that no two have the same id and none can be given that of another (RFC 7638).
  const kid = await calculateJwkThumbprint(publicPartOf(createPublicKey(privateKey)));
  return { kid, pem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })) };
}

/** Reads a private key back. The public one is made from it: nobody can have put another in its place. */
export function readKeyPair(kid: string, algorithm: KeyPairAlgorithm, pem: string): KeyPair {
  const publicKey = createPublicKey(createPrivateKey(pem));
  const verify = createVerifier({
    key: String(publicKey.export({ type: 'spki', format: 'pem' })),
    algorithms: [algorithm],
    allowedIss: issuer,
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

/** The members that make a public key (RFC 7517, RFC 8037), each by name: nothing else can come along. */
function publicPartOf(key: KeyObject): Pick<PublicKey, 'kty' | 'crv' | 'x' | 'y'> {
  const { kty, crv, x, y } = key.export({ format: 'jwk' }) as PublicKey;
  return { kty, crv, x, ...(y === undefined ? {} : { y }) };
}
