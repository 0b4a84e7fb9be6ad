import { generateKeyPairSync } from 'node:crypto';
import type { StoredPasskey } from '../../db/queries/webauthn/passkeys.js';
import type {
  PasskeyCreationOptions,
  PasskeyCredential,
  PasskeyRequestOptions,
  RegistrationCredential,
} from '../../schemas/passkeys.js';
import { type Challenge, type Challenges, challengeLifetime } from './challenges.js';

/** A new passkey, as its authenticator describes it. */
export interface NewCredential {
  challenge: Challenge;
  /** In base64url. */
  credentialId: string;
  /** In COSE format, in base64url. */
  publicKey: string;
  counter: number;
  transports: string[];
  isBackupEligible: boolean;
  isBackedUp: boolean;
  /** Whether the authenticator verified the user, for example with a fingerprint or a PIN. */
  isUserVerified: boolean;
  aaguid: string;
}

/** A valid signature with a passkey. */
export interface Assertion {
  challenge: Challenge;
  counter: number;
  /** Whether the authenticator now reports that the passkey can be synchronized. */
  isBackupEligible: boolean;
  isBackedUp: boolean;
  /** Whether the authenticator verified the user, for example with a fingerprint or a PIN. */
  isUserVerified: boolean;
}

/**
 * The ceremonies of WebAuthn Level 3 (7.1 and 7.2). Whatever is wrong with the response of a browser, the verifying methods return
 * undefined, so that all such responses are refused identically.
 */
export interface WebAuthn {
  creationOptions(
    user: { id: string; name: string; displayName: string },
    project: string,
    known: readonly { id: string; transports: string[] }[],
  ): PasskeyCreationOptions;
  requestOptions(): PasskeyRequestOptions;
  /** @param user the user who adds the passkey */
  verifyRegistration(credential: RegistrationCredential, user: string): Promise<NewCredential | undefined>;
  /** @param passkey undefined if there is no such passkey; the work is the same */
  verifyAssertion(credential: PasskeyCredential, passkey: StoredPasskey | undefined): Promise<Assertion | undefined>;
}

/** EdDSA, ES256, and RS256, by their numbers in the COSE registry. Authenticators choose the first one that they support. */
const algorithms = [-8, -7, -257];

/** Characters. What authenticators send is far shorter. The limits keep hostile input from reaching the parsers. */
const maxLengths = { id: 1364, clientData: 8192, attestation: 65_536, authenticatorData: 16_384, signature: 4096 };

/** Bytes. An RSA public key with 8192 bits is shorter. */
const maxKeyLength = 1100;

/** A passkey that no one has, so that checking an unknown credential takes the same work. */
function createDecoy(): Omit<StoredPasskey, 'credentialId'> {
  // Not as a JWK: Node.js 20 can wait for itself forever if it collects garbage while it exports a generated key that way.
  const { publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  });
  // The encoding ends with the coordinates, of 32 bytes each.
  const point = publicKey.subarray(-64).toString('hex');
  // A COSE key: {1: 2, 3: -7, -1: 1, -2: x, -3: y}.
  const key = Buffer.from(`a5010203262001215820${point.slice(0, 64)}225820${point.slice(64)}`, 'hex');
  return { id: '', user: '', counter: 0, isBackupEligible: false, publicKey: key.toString('base64url') };
}

/** Formats whose statements contain certificates (WebAuthn Level 3, 8). */
const withCertificates = new Set([
  ...['packed', 'tpm', 'android-key', 'android-safetynet', 'fido-u2f', 'apple', 'compound'],
]);

export function createWebAuthn(deps: { challenges: Challenges; rpId: string; origins: readonly string[] }): WebAuthn {
  const { challenges, rpId } = deps;
  const origins = [...deps.origins];
  const decoy = createDecoy();

  /** The challenge in the client data; undefined if this service did not issue it, or the page was in a frame of another site. */
  const challengeIn = (
    clientDataJSON: string,
    user: string | null,
  ): { text: string; challenge: Challenge } | undefined => {
    if (clientDataJSON.length > maxLengths.clientData) return undefined;
    const data: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'));
    const { challenge: text, crossOrigin } = data as { challenge?: unknown; crossOrigin?: unknown };
    if (typeof text !== 'string' || (crossOrigin !== undefined && crossOrigin !== false)) return undefined;
    const challenge = challenges.read(text, user);
    return challenge && { text, challenge };
  };

  return {
    creationOptions: ({ id, name, displayName }, project, known) => ({
      rp: { id: rpId, name: project },
      user: { id: handleOf(id), name, displayName },
      challenge: challenges.issue(id),
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
      timeout: challengeLifetime,
      excludeCredentials: known.map((credential) => ({ type: 'public-key', ...credential })),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'preferred' },
      attestation: 'none',
    }),

    requestOptions: () => ({
      challenge: challenges.issue(null),
      timeout: challengeLifetime,
      rpId,
      userVerification: 'preferred',
    }),

    verifyRegistration: ({ id, rawId, type, response }, user) =>
      attempt(async () => {
        const { clientDataJSON, transports = [] } = response;
        const found = challengeIn(clientDataJSON, user);
        if (!found || id.length > maxLengths.id || response.attestationObject.length > maxLengths.attestation)
          return undefined;
        const { verifyRegistrationResponse } = await load();
        const attestationObject = await withoutCertificates(response.attestationObject);
        if (attestationObject === undefined) return undefined;
        const { verified, registrationInfo: info } = await verifyRegistrationResponse({
          response: {
            id,
            rawId,
            type: type as 'public-key',
            clientExtensionResults: {},
            response: { clientDataJSON, attestationObject },
          },
          expectedChallenge: found.text,
          expectedOrigin: origins,
          expectedRPID: rpId,
          requireUserVerification: false,
          supportedAlgorithmIDs: algorithms,
        });
        // The authenticator signs for the ID in the attested data, so the browser must have sent that same ID.
        if (!verified || info.credential.id !== id || info.credential.publicKey.length > maxKeyLength) return undefined;
        return {
          challenge: found.challenge,
          credentialId: id,
          publicKey: Buffer.from(info.credential.publicKey).toString('base64url'),
          counter: info.credential.counter,
          transports: wellFormedTransports(transports),
          isBackupEligible: info.credentialDeviceType === 'multiDevice',
          isBackedUp: info.credentialBackedUp,
          isUserVerified: info.userVerified,
          aaguid: info.aaguid,
        };
      }),

    verifyAssertion: ({ id, rawId, type, response }, passkey) =>
      attempt(async () => {
        const { clientDataJSON, authenticatorData, signature, userHandle } = response;
        const found = challengeIn(clientDataJSON, null);
        const isTooLong =
          id.length > maxLengths.id ||
          authenticatorData.length > maxLengths.authenticatorData ||
          signature.length > maxLengths.signature;
        if (!found || isTooLong) return undefined;
        const { verifyAuthenticationResponse } = await load();
        const { publicKey, counter, isBackupEligible, user } = passkey ?? decoy;
        const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
          response: {
            id,
            rawId,
            type: type as 'public-key',
            clientExtensionResults: {},
            response: { clientDataJSON, authenticatorData, signature },
          },
          expectedChallenge: found.text,
          expectedOrigin: origins,
          expectedRPID: rpId,
          requireUserVerification: false,
          credential: { id, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter },
        });
        const isSameUser = passkey !== undefined && bytesOf(userHandle ?? '').equals(bytesOf(handleOf(user)));
        const isSynchronized = info.credentialDeviceType === 'multiDevice';
        // Password managers started to synchronize passkeys that they had created as keys of one device. The reverse does not occur.
        const isKnownKind = isSynchronized === isBackupEligible || (isSynchronized && info.userVerified);
        if (!verified || !isSameUser || !isKnownKind) return undefined;
        return {
          challenge: found.challenge,
          counter: info.newCounter,
          isBackupEligible: isSynchronized,
          isBackedUp: info.credentialBackedUp,
          isUserVerified: info.userVerified,
        };
      }),
  };
}

/** Loads the library when the first passkey is used, because it takes a while and many services never need it. */
const load = () => import('@simplewebauthn/server');

/**
 * Returns undefined for every error: the library throws one for each fault in a response, and for malformed input its parsers throw
 * whatever they run into, such as a RangeError for data that is nested too deeply.
 */
async function attempt<T>(work: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}

/** Compares handles as bytes, because some password managers add padding to the text. */
const bytesOf = (handle: string): Buffer => Buffer.from(handle, 'base64url');

/** The user handle: the bytes of the user's ID, which say nothing about the user. */
const handleOf = (user: string): string => Buffer.from(user.replaceAll('-', ''), 'hex').toString('base64url');

/**
 * Replaces a statement that contains certificates with an empty one (format `none`). The service requests no attestation and trusts no
 * manufacturer, so certificates prove nothing to it, but the library would download the revocation lists that they name.
 * @returns undefined if the format is unknown
 */
async function withoutCertificates(attestationObject: string): Promise<string | undefined> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await import('@simplewebauthn/server/helpers');
  const decoded = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject));
  const format = decoded.get('fmt');
  const statement: unknown = decoded.get('attStmt');
  const isSelfSigned = format === 'packed' && statement instanceof Map && !statement.has('x5c');
  if (format === 'none' || isSelfSigned) return attestationObject;
  if (!withCertificates.has(format)) return undefined;
  const bare = new Map<string, unknown>([
    ['fmt', 'none'],
    ['attStmt', new Map()],
    ['authData', decoded.get('authData')],
  ]);
  return isoBase64URL.fromBuffer(isoCBOR.encode(bare as Parameters<typeof isoCBOR.encode>[0]));
}

/** The well-formed transports. Browsers read them back, and ignore those that they do not know. */
const wellFormedTransports = (transports: readonly string[]): string[] =>
  [...new Set(transports)].filter((transport) => /^[a-z-]{1,32}$/.test(transport)).slice(0, 8);
