import { type Static, Type } from '@sinclair/typebox';
import { Closed, named } from './common.js';

/** Access token algorithms with key pairs: the private key signs, and the public key is published (RFC 7518, RFC 8037). */
export const accessTokenKeyAlgorithms = ['EdDSA', 'ES256'] as const;

/** The algorithms of all key pairs. The OpenID Connect provider signs with each of them, and only the provider signs with RS256. */
export const keyPairAlgorithms = [...accessTokenKeyAlgorithms, 'RS256'] as const;
export type KeyPairAlgorithm = (typeof keyPairAlgorithms)[number];

/** The algorithm of access tokens for the APIs of others. */
export const resourceTokenAlgorithm = 'RS256';

/** How long clients can cache the key set, in seconds. */
export const keySetMaxAge = 300;

const coordinate = (description: string) => Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', description });

const keyType = <T extends string>(kty: T) => Type.Literal(kty, { description: 'The key type.' });
const curve = <T extends string>(crv: T) => Type.Literal(crv, { description: 'The curve of the key.' });

/** The members that every key has. */
const common = <T extends KeyPairAlgorithm>(algorithm: T) => ({
  kid: coordinate('The ID of the key. Tokens that are signed with the key contain this ID in their header.'),
  alg: Type.Literal(algorithm, { description: 'The algorithm that the key is used with.' }),
  use: Type.Literal('sig', { description: 'The purpose of the key: signatures.' }),
});

const Ed25519PublicKey = named(
  'Ed25519PublicKey',
  Closed(
    { kty: keyType('OKP'), crv: curve('Ed25519'), x: coordinate('The public key.'), ...common('EdDSA') },
    { description: 'A public key for `EdDSA`, as a JSON Web Key (RFC 8037).' },
  ),
);

const EcPublicKey = named(
  'EcPublicKey',
  Closed(
    {
      kty: keyType('EC'),
      crv: curve('P-256'),
      x: coordinate('The x coordinate of the public key.'),
      y: coordinate('The y coordinate of the public key.'),
      ...common('ES256'),
    },
    { description: 'A public key for `ES256`, as a JSON Web Key (RFC 7518).' },
  ),
);

const RsaPublicKey = named(
  'RsaPublicKey',
  Closed(
    {
      kty: keyType('RSA'),
      n: Type.String({ pattern: '^[A-Za-z0-9_-]{342,}$', description: 'The modulus of the public key.' }),
      e: Type.String({ pattern: '^[A-Za-z0-9_-]+$', description: 'The exponent of the public key.' }),
      ...common('RS256'),
    },
    { description: 'A public key for `RS256`, as a JSON Web Key (RFC 7518).' },
  ),
);

export const PublicKey = named(
  'PublicKey',
  Type.Union([Ed25519PublicKey, EcPublicKey, RsaPublicKey], {
    description: 'A public key, as a JSON Web Key (RFC 7517). `kty` determines its other members.',
  }),
);
export type PublicKey = Static<typeof PublicKey>;

export const KeySet = named(
  'KeySet',
  Closed(
    { keys: Type.Array(PublicKey) },
    {
      description: 'A JSON Web Key Set (RFC 7517).',
      examples: [
        {
          keys: [
            {
              kty: 'OKP',
              crv: 'Ed25519',
              x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
              kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
              alg: 'EdDSA',
              use: 'sig',
            },
          ],
        },
      ],
    },
  ),
);
export type KeySet = Static<typeof KeySet>;

/** Headers of the response with the keys. */
export const keySetHeaders = {
  'cache-control': Type.String({
    description:
      'How long you can cache the keys, in seconds. After the service publishes the successor of a key, it waits longer than this before it signs tokens with the successor.',
    examples: [`public, max-age=${keySetMaxAge}`],
  }),
};
