import { type Static, Type } from '@sinclair/typebox';
import { Closed, named } from './common.js';

/** Access token algorithms with key pairs: the private key signs, and the public key is published (RFC 7518, RFC 8037). */
export const keyPairAlgorithms = ['EdDSA', 'ES256'] as const;
export type KeyPairAlgorithm = (typeof keyPairAlgorithms)[number];

/** How long clients can cache the key set, in seconds. */
export const keySetMaxAge = 300;

const coordinate = (description: string) => Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', description });

export const PublicKey = named(
  'PublicKey',
  Closed(
    {
      kty: Type.Union([Type.Literal('OKP'), Type.Literal('EC')], { description: 'The key type.' }),
      crv: Type.Union([Type.Literal('Ed25519'), Type.Literal('P-256')], { description: 'The curve of the key.' }),
      x: coordinate('The public key or, for the curve P-256, its x coordinate.'),
      y: Type.Optional(coordinate('The y coordinate of the public key. Present only for the curve P-256.')),
      kid: coordinate('The ID of the key. Tokens that are signed with the key contain this ID in their header.'),
      alg: Type.Unsafe<KeyPairAlgorithm>(
        Type.Union(
          keyPairAlgorithms.map((algorithm) => Type.Literal(algorithm)),
          { description: 'The algorithm that the key is used with.' },
        ),
      ),
      use: Type.Literal('sig', { description: 'The purpose of the key: signatures.' }),
    },
    { description: 'A public key, as a JSON Web Key (RFC 7517).' },
  ),
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
      'How long you can cache the keys, in seconds. After the service publishes a new key, it waits longer than this before it signs tokens with the key.',
    examples: [`public, max-age=${keySetMaxAge}`],
  }),
};
