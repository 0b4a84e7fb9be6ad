import { type Static, Type } from '@sinclair/typebox';
import { Closed, Data, Nullable, named, Timestamp, Uuid } from './common.js';
import { SessionMode } from './sessions.js';

/** Bytes, as WebAuthn writes them in JSON. The service checks the content, so that every faulty value has the same error. */
const Bytes = (description: string) => Type.String({ description: `${description}, in base64url.` });

/** Keys that browsers add. The service does not read them, and later versions of WebAuthn may add more. */
const open = { additionalProperties: true } as const;

const credentialId = Bytes('The credential ID');
const credentialType = Type.String({ description: 'Always `public-key`.' });
const clientDataJSON = Bytes('The client data');

/** What a browser returns for a new passkey. */
export const RegistrationCredential = named(
  'RegistrationCredential',
  Type.Object(
    {
      id: credentialId,
      rawId: credentialId,
      type: credentialType,
      response: Type.Object(
        {
          clientDataJSON,
          attestationObject: Bytes('The attestation object'),
          transports: Type.Optional(
            Type.Array(Type.String(), {
              description: 'The transports that the browser can use to reach the authenticator.',
            }),
          ),
        },
        open,
      ),
    },
    {
      ...open,
      description:
        'The result of calling `navigator.credentials.create()` with the options from `POST /users/me/passkeys/options`, as JSON (`RegistrationResponseJSON` of WebAuthn Level 3). Additional keys are ignored.',
    },
  ),
);
export type RegistrationCredential = Static<typeof RegistrationCredential>;

/** What a browser returns when a user signs in with a passkey. */
export const PasskeyCredential = named(
  'PasskeyCredential',
  Type.Object(
    {
      id: credentialId,
      rawId: credentialId,
      type: credentialType,
      response: Type.Object(
        {
          clientDataJSON,
          authenticatorData: Bytes('The authenticator data'),
          signature: Bytes('The signature'),
          userHandle: Type.Optional(Nullable(Bytes('The user handle'))),
        },
        open,
      ),
    },
    {
      ...open,
      description:
        'The result of calling `navigator.credentials.get()` with the options from `POST /auth/passkey/options`, as JSON (`AuthenticationResponseJSON` of WebAuthn Level 3). Additional keys are ignored.',
    },
  ),
);
export type PasskeyCredential = Static<typeof PasskeyCredential>;

const exampleId = 'A4eRkYp0pQ2nL7ZbO1vC9w';
const exampleClientData = 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQWJDIn0';

export const exampleAssertion = {
  id: exampleId,
  rawId: exampleId,
  type: 'public-key',
  response: {
    clientDataJSON: exampleClientData,
    authenticatorData: 'SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MdAAAAAA',
    signature: 'MEUCIQDx5l2q0kq7Yw',
    userHandle: 'DJ1dbj8LTQydU2pPHgyLIQ',
  },
  clientExtensionResults: {},
};

const exampleRegistration = {
  id: exampleId,
  rawId: exampleId,
  type: 'public-key',
  response: {
    clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0',
    attestationObject: 'o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YVjE',
    transports: ['internal', 'hybrid'],
  },
  clientExtensionResults: {},
};

export const maxPasskeyNameLength = 100;
const Name = Type.String({
  minLength: 1,
  maxLength: maxPasskeyNameLength,
  pattern: '\\S',
  description: 'A name that helps the user recognize the passkey.',
});

export const AddPasskeyBody = named(
  'AddPasskeyBody',
  Closed(
    { credential: RegistrationCredential, name: Type.Optional(Name) },
    { examples: [{ credential: exampleRegistration, name: 'MacBook' }] },
  ),
);

export const RenamePasskeyBody = named(
  'RenamePasskeyBody',
  Closed({ name: Name }, { examples: [{ name: 'MacBook' }] }),
);

export const LoginWithPasskeyBody = named(
  'LoginWithPasskeyBody',
  Closed(
    {
      credential: PasskeyCredential,
      mode: Type.Optional(SessionMode),
      otp: Type.Optional(
        Type.String({
          minLength: 1,
          description:
            'The one-time password, or a recovery code. Required if two-factor authentication is turned on and the authenticator did not verify the user.',
        }),
      ),
    },
    { examples: [{ credential: exampleAssertion }] },
  ),
);

export const CheckPasskeyBody = named(
  'CheckPasskeyBody',
  Closed(
    {
      id: Type.String({
        minLength: 1,
        maxLength: 1364,
        pattern: '^[A-Za-z0-9_=-]+$',
        description: 'The `id` of the credential that the browser returned.',
      }),
    },
    { examples: [{ id: exampleAssertion.id }] },
  ),
);

export const CheckPasskeyResponse = named(
  'CheckPasskeyResponse',
  Data(Closed({ known: Type.Boolean({ description: 'Whether a user has this passkey.' }) }), { known: true }),
);

export const passkeyProperties = {
  id: Uuid('The ID of the passkey.'),
  name: Type.String({ description: 'The name of the passkey.' }),
  created_at: Timestamp('When the passkey was added.'),
  last_used_at: Nullable(Timestamp('When the passkey was last used.')),
  backed_up: Type.Boolean({
    description: 'Whether the passkey is backed up, for example by a password manager that synchronizes it.',
  }),
  transports: Type.Array(Type.String(), {
    description:
      'The transports that browsers can use to reach the authenticator, such as `internal`, `hybrid`, or `usb`.',
  }),
  aaguid: Uuid('The model of the authenticator. All zeros if it is unknown.'),
};

export const Passkey = named(
  'Passkey',
  Closed(passkeyProperties, { description: 'A passkey with which a user can log in.' }),
);
export type Passkey = Static<typeof Passkey>;

const examplePasskey = {
  id: '3f8a2c1e-6b0d-4f57-8e9a-2d1c5b7a9e40',
  name: 'MacBook',
  created_at: '2026-01-12T08:10:00.000Z',
  last_used_at: '2026-01-31T09:26:53.000Z',
  backed_up: true,
  transports: ['internal', 'hybrid'],
  aaguid: 'fbfc3007-154e-4ecc-8c0b-6e020557d7bd',
};

export const PasskeyResponse = named('PasskeyResponse', Data(Passkey, examplePasskey));
export const PasskeysResponse = named('PasskeysResponse', Data(Type.Array(Passkey), [examplePasskey]));

const challenge = Type.String({
  description: 'The challenge, in base64url. It is valid for five minutes and can be used once.',
});
const timeout = Type.Integer({ description: 'How long the challenge is valid, in milliseconds.' });
const userVerification = Type.Literal('preferred', {
  description: 'Whether the authenticator verifies the user, for example with a fingerprint or a PIN.',
});

const descriptor = Closed(
  {
    type: Type.Literal('public-key'),
    id: credentialId,
    transports: Type.Array(Type.String(), {
      description: 'The transports that browsers can use to reach the authenticator.',
    }),
  },
  { description: 'A passkey that the user already has.' },
);

export const PasskeyCreationOptions = named(
  'PasskeyCreationOptions',
  Closed(
    {
      rp: Closed(
        {
          id: Type.String({ description: 'The domain to which the browser binds the passkey.' }),
          name: Type.String({ description: 'The name of the project.' }),
        },
        { description: 'The service, as the browser shows it.' },
      ),
      user: Closed(
        {
          id: Bytes("The bytes of the user's ID"),
          name: Type.String({ description: "The user's email address or, if the user has none, the user's ID." }),
          displayName: Type.String({ description: "The user's name." }),
        },
        { description: 'The user, as the browser shows them.' },
      ),
      challenge,
      pubKeyCredParams: Type.Array(
        Closed({
          type: Type.Literal('public-key'),
          alg: Type.Integer({ description: 'The number of the algorithm in the COSE registry.' }),
        }),
        { description: 'The accepted signature algorithms: EdDSA, ES256, and RS256.' },
      ),
      timeout,
      excludeCredentials: Type.Array(descriptor, { description: 'The passkeys that the user already has.' }),
      authenticatorSelection: Closed({
        residentKey: Type.Literal('required'),
        requireResidentKey: Type.Literal(true),
        userVerification,
      }),
      attestation: Type.Literal('none'),
    },
    {
      description:
        'The options for `navigator.credentials.create()` (`PublicKeyCredentialCreationOptionsJSON` of WebAuthn Level 3).',
    },
  ),
);
export type PasskeyCreationOptions = Static<typeof PasskeyCreationOptions>;

const exampleChallenge = 'AQAAAZwKbR0AKq4uSx0f5tHnGxgX7bqkq0mJ2uE6d0lI6iO3f6m1uV3Yq8C2oY7tX9bRkg';

export const PasskeyCreationOptionsResponse = named(
  'PasskeyCreationOptionsResponse',
  Data(PasskeyCreationOptions, {
    rp: { id: 'accounts.example.com', name: 'Example' },
    user: { id: 'DJ1dbj8LTQydU2pPHgyLIQ', name: 'ada@example.com', displayName: 'Ada Lovelace' },
    challenge: exampleChallenge,
    pubKeyCredParams: [
      { type: 'public-key', alg: -8 },
      { type: 'public-key', alg: -7 },
      { type: 'public-key', alg: -257 },
    ],
    timeout: 300_000,
    excludeCredentials: [],
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'preferred' },
    attestation: 'none',
  }),
);

export const PasskeyRequestOptions = named(
  'PasskeyRequestOptions',
  Closed(
    {
      challenge,
      timeout,
      rpId: Type.String({ description: 'The domain to which passkeys are bound.' }),
      userVerification,
    },
    {
      description:
        'The options for `navigator.credentials.get()` (`PublicKeyCredentialRequestOptionsJSON` of WebAuthn Level 3).',
    },
  ),
);
export type PasskeyRequestOptions = Static<typeof PasskeyRequestOptions>;

export const PasskeyRequestOptionsResponse = named(
  'PasskeyRequestOptionsResponse',
  Data(PasskeyRequestOptions, {
    challenge: exampleChallenge,
    timeout: 300_000,
    rpId: 'accounts.example.com',
    userVerification: 'preferred',
  }),
);

/** The document of Related Origin Requests (WebAuthn Level 3, 5.11), which is not wrapped in `data`. */
export const RelatedOrigins = named(
  'RelatedOrigins',
  Closed(
    { origins: Type.Array(Type.String(), { description: 'The origins whose pages can use the passkeys.' }) },
    { examples: [{ origins: ['https://accounts.example.com', 'https://example.org'] }] },
  ),
);
