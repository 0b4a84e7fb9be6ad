import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { PasskeyCredential, RegistrationCredential } from '../../../schemas/passkeys.js';

/** A simulated authenticator and browser, which can also do everything wrong (WebAuthn Level 3, 6). */

const base64url = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest();

type Cbor = number | string | Uint8Array | readonly Cbor[] | ReadonlyMap<Cbor, Cbor>;

/** Encodes a value in CBOR (RFC 8949). */
export function cbor(value: Cbor): Buffer {
  const head = (type: number, length: number) => {
    const first = type << 5;
    if (length < 24) return Buffer.from([first | length]);
    if (length < 0x100) return Buffer.from([first | 24, length]);
    return Buffer.from([first | 25, length >> 8, length & 0xff]);
  };
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (value instanceof Map) return Buffer.concat([head(5, value.size), ...[...value].flat().map(cbor)]);
  const items = value as readonly Cbor[];
  return Buffer.concat([head(4, items.length), ...items.map(cbor)]);
}

export type Algorithm = 'ES256' | 'EdDSA' | 'RS256' | 'ES384';

const numbers: Record<Algorithm, number> = { ES256: -7, EdDSA: -8, RS256: -257, ES384: -35 };

function generate(algorithm: Algorithm): { privateKey: KeyObject; publicKey: KeyObject } {
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519');
  if (algorithm === 'RS256') return generateKeyPairSync('rsa', { modulusLength: 2048 });
  return generateKeyPairSync('ec', { namedCurve: algorithm === 'ES256' ? 'P-256' : 'P-384' });
}

/** The public key in COSE format (RFC 9053, 7). */
function coseKey(algorithm: Algorithm, publicKey: KeyObject): Map<Cbor, Cbor> {
  // From the PEM: Node.js 20 can wait for itself forever if it collects garbage while it exports a generated key as a JWK.
  const pem = publicKey.export({ type: 'spki', format: 'pem' });
  const { x = '', y = '', n = '', e = '' } = createPublicKey(pem).export({ format: 'jwk' });
  const bytes = (text: string) => Buffer.from(text, 'base64url');
  const alg: [number, number] = [3, numbers[algorithm]];
  const entries: Record<Algorithm, [number, Cbor][]> = {
    EdDSA: [[1, 1], alg, [-1, 6], [-2, bytes(x)]],
    RS256: [[1, 3], alg, [-1, bytes(n)], [-2, bytes(e)]],
    ES256: [[1, 2], alg, [-1, 1], [-2, bytes(x)], [-3, bytes(y)]],
    ES384: [[1, 2], alg, [-1, 2], [-2, bytes(x)], [-3, bytes(y)]],
  };
  return new Map(entries[algorithm]);
}

/** What to do differently in one ceremony. */
export interface Changes {
  /** Keys of the client data that replace the correct ones; undefined removes a key. */
  clientData?: Record<string, unknown>;
  /** The bytes of the client data, instead of the JSON. */
  clientDataBytes?: Uint8Array | string;
  rpId?: string;
  userPresent?: boolean;
  userVerified?: boolean;
  backupEligible?: boolean;
  backedUp?: boolean;
  counter?: number;
  /** Bytes after the authenticator data. */
  trailing?: Uint8Array;
  /** Further flags. */
  flags?: number;
  /** Changes the bytes that are signed or attested, before the signature. */
  authenticatorData?: (data: Buffer) => Buffer;
  signature?: (signature: Buffer) => Buffer;
  userHandle?: string | null;
  /** The attestation statement. Default: none. */
  attestation?: (
    data: Buffer,
    clientDataHash: Buffer,
    signWith: (data: Buffer) => Buffer,
  ) => { fmt: string; attStmt: ReadonlyMap<Cbor, Cbor> };
  attestationObject?: (object: Buffer) => Buffer;
  credentialId?: Buffer;
}

export interface Settings {
  origin?: string;
  rpId?: string;
  algorithm?: Algorithm;
  /** Whether the authenticator verifies its user. Default: true. */
  verifies?: boolean;
  /** Whether the key pair is synchronized. Default: true. */
  synchronizes?: boolean;
  /** Whether the authenticator counts its signatures. Default: false, as in authenticators that synchronize. */
  counts?: boolean;
  aaguid?: string;
}

/** A key pair in an authenticator. */
export function createAuthenticator(settings: Settings = {}) {
  const { origin = 'http://localhost:8055', rpId = 'localhost', algorithm = 'ES256', verifies = true } = settings;
  const { synchronizes = true, counts = false, aaguid = 'fbfc3007-154e-4ecc-8c0b-6e020557d7bd' } = settings;
  const { privateKey, publicKey } = generate(algorithm);
  const credentialId = randomBytes(32);
  let counter = 0;
  let userHandle = '';

  const signWith = (data: Buffer) => {
    if (algorithm === 'EdDSA') return sign(null, data, privateKey);
    return sign(algorithm === 'ES384' ? 'sha384' : 'sha256', data, privateKey);
  };

  const clientDataOf = (type: string, challenge: string, { clientData, clientDataBytes }: Changes) =>
    Buffer.from(clientDataBytes ?? JSON.stringify({ type, challenge, origin, crossOrigin: false, ...clientData }));

  const dataOf = (changes: Changes, attested: Buffer) => {
    const { userPresent = true, userVerified = verifies, backupEligible = synchronizes } = changes;
    const { backedUp = synchronizes, flags = 0, trailing = Buffer.alloc(0) } = changes;
    if (counts) counter += 1;
    const count = Buffer.alloc(4);
    count.writeUInt32BE(changes.counter ?? counter);
    const bits =
      (userPresent ? 1 : 0) |
      (userVerified ? 4 : 0) |
      (backupEligible ? 8 : 0) |
      (backedUp ? 16 : 0) |
      (attested.length > 0 ? 64 : 0) |
      flags;
    const data = Buffer.concat([sha256(changes.rpId ?? rpId), Buffer.from([bits]), count, attested, trailing]);
    return changes.authenticatorData?.(data) ?? data;
  };

  return {
    credentialId: base64url(credentialId),

    /** `navigator.credentials.create()` */
    create(
      { challenge, user }: { challenge: string; user: { id: string } },
      changes: Changes = {},
    ): RegistrationCredential {
      userHandle = user.id;
      const clientData = clientDataOf('webauthn.create', challenge, changes);
      const id = changes.credentialId ?? credentialId;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(id.length);
      const attested = Buffer.concat([
        Buffer.from(aaguid.replaceAll('-', ''), 'hex'),
        length,
        id,
        cbor(coseKey(algorithm, publicKey)),
      ]);
      const data = dataOf(changes, attested);
      const { fmt, attStmt } = changes.attestation?.(data, sha256(clientData), signWith) ?? {
        fmt: 'none',
        attStmt: new Map(),
      };
      const object = cbor(
        new Map<Cbor, Cbor>([
          ['fmt', fmt],
          ['attStmt', attStmt],
          ['authData', data],
        ]),
      );
      return {
        id: base64url(id),
        rawId: base64url(id),
        type: 'public-key',
        response: {
          clientDataJSON: base64url(clientData),
          attestationObject: base64url(changes.attestationObject?.(object) ?? object),
          transports: ['internal', 'hybrid'],
          publicKeyAlgorithm: numbers[algorithm],
        },
        authenticatorAttachment: 'platform',
        clientExtensionResults: { credProps: { rk: true } },
      } as RegistrationCredential;
    },

    /** `navigator.credentials.get()` */
    get({ challenge }: { challenge: string }, changes: Changes = {}): PasskeyCredential {
      const clientData = clientDataOf('webauthn.get', challenge, changes);
      const data = dataOf(changes, Buffer.alloc(0));
      const signature = signWith(Buffer.concat([data, sha256(clientData)]));
      return {
        id: base64url(credentialId),
        rawId: base64url(credentialId),
        type: 'public-key',
        response: {
          clientDataJSON: base64url(clientData),
          authenticatorData: base64url(data),
          signature: base64url(changes.signature?.(signature) ?? signature),
          userHandle: changes.userHandle === undefined ? userHandle : changes.userHandle,
        },
        authenticatorAttachment: 'platform',
        clientExtensionResults: {},
      } as PasskeyCredential;
    },
  };
}

export type Authenticator = ReturnType<typeof createAuthenticator>;
